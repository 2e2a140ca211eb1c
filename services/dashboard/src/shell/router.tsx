import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { Page } from '../pages/page.ts';
import { pages } from '../pages/pages.ts';
import { Frame } from './Frame.tsx';
import { PresenceGuard } from './PresenceGuard.tsx';

const root = createRootRoute({ component: Frame, notFoundComponent: () => <p>There is no such page.</p> });

function createPageRoute({ path, title, needs, load }: Page) {
  const Component = lazy(async () => ({ default: await load() }));
  return createRoute({
    getParentRoute: () => root,
    path,
    component: () => (
      <PresenceGuard title={title} needs={needs}>
        <Suspense fallback={<p className="loading">Loading …</p>}>
          <Component />
        </Suspense>
      </PresenceGuard>
    ),
  });
}

export const router = createRouter({ routeTree: root.addChildren(pages.map(createPageRoute)), basepath: '/app' });
