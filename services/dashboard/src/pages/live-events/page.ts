import type { Page } from '../page.ts';

export const page: Page = {
  path: '/live',
  title: 'Live events',
  group: 'Operate',
  order: 30,
  needs: [],
  load: async () => (await import('./LiveEvents.tsx')).LiveEvents,
};
