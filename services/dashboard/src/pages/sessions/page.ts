import type { Page } from '../page.ts';

export const page: Page = {
  path: '/sessions',
  title: 'Sessions',
  group: 'Operate',
  order: 40,
  needs: ['session.list'],
  wants: ['session.history', 'session.delete'],
  load: async () => (await import('./Sessions.tsx')).Sessions,
};
