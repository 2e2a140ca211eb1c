import { eventsPage } from './events.ts';
import { limitsPage } from './limits.ts';
import { methodPages } from './methods.ts';
import { notImplementedPage } from './not-implemented.ts';
import { routesPage } from './routes.ts';
import { whoMayNamePage } from './who-may-name.ts';

/** Renders the reference pages that derive from the contracts, keyed by file. */
export async function referencePages(): Promise<Record<string, string>> {
  return {
    ...methodPages(),
    'docs/reference/events.md': eventsPage(),
    'docs/reference/limits.md': limitsPage(),
    'docs/reference/not-implemented.md': notImplementedPage(),
    'docs/reference/routes.md': await routesPage(),
    'docs/reference/who-may-name.md': whoMayNamePage(),
  };
}
