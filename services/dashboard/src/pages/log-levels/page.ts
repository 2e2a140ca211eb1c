import type { Page } from '../page.ts';

export const page: Page = {
  path: '/log-levels',
  title: 'Log levels',
  group: 'Configure',
  order: 130,
  needs: ['daemon.setLogLevel'],
  load: async () => (await import('./LogLevels.tsx')).LogLevels,
};
