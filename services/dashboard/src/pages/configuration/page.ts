import type { Page } from '../page.ts';

export const page: Page = {
  path: '/configuration',
  title: 'Configuration',
  group: 'Configure',
  order: 90,
  needs: ['config.read'],
  wants: ['agents.get', 'agents.update', 'config.diff', 'config.history', 'config.patch', 'config.rollback', 'config.schema'],
  load: async () => (await import('./Configuration.tsx')).Configuration,
};
