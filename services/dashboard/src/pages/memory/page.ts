import type { Page } from '../page.ts';

export const page: Page = {
  path: '/memory',
  title: 'Memory',
  group: 'Inspect',
  order: 140,
  needs: ['memory.browse'],
  wants: ['memory.search', 'memory.delete'],
  load: async () => (await import('./Memory.tsx')).Memory,
};
