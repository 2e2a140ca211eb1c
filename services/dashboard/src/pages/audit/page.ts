import type { Page } from '../page.ts';

export const page: Page = {
  path: '/audit',
  title: 'Audit',
  group: 'Inspect',
  order: 150,
  needs: [],
  load: async () => (await import('./Audit.tsx')).Audit,
};
