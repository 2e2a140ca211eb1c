import type { Page } from '../page.ts';

export const page: Page = {
  path: '/secrets',
  title: 'Secrets',
  group: 'Configure',
  order: 120,
  needs: ['env.list'],
  wants: ['env.set'],
  load: async () => (await import('./Secrets.tsx')).Secrets,
};
