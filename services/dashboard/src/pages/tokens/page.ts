import type { Page } from '../page.ts';

export const page: Page = {
  path: '/tokens',
  title: 'Tokens',
  group: 'Configure',
  order: 110,
  needs: ['tokens.list'],
  wants: ['tokens.revoke'],
  load: async () => (await import('./Tokens.tsx')).Tokens,
};
