import type { Page } from '../page.ts';

export const page: Page = {
  path: '/models',
  title: 'Models',
  group: 'Configure',
  order: 100,
  needs: ['models.list'],
  wants: ['models.test'],
  load: async () => (await import('./Models.tsx')).Models,
};
