import type { Page } from '../page.ts';

export const page: Page = {
  path: '/runs',
  title: 'Runs',
  group: 'Operate',
  order: 45,
  needs: [],
  wants: ['obs.trace.search', 'obs.explain', 'obs.bundle', 'context.tree', 'session.history'],
  load: async () => (await import('./Runs.tsx')).Runs,
};
