import type { Page } from '../page.ts';

export const page: Page = {
  path: '/',
  title: 'Home',
  group: 'Operate',
  order: 10,
  needs: ['gateway.status'],
  wants: ['admin.approval.pending', 'agents.list', 'config.history', 'obs.trace.search'],
  load: async () => (await import('./Home.tsx')).Home,
};
