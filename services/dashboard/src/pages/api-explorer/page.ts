import type { Page } from '../page.ts';

export const page: Page = {
  path: '/api',
  title: 'API explorer',
  group: 'Inspect',
  order: 160,
  needs: [],
  load: async () => (await import('./ApiExplorer.tsx')).ApiExplorer,
};
