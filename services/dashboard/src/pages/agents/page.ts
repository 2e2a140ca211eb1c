import type { Page } from '../page.ts';

export const page: Page = {
  path: '/agents',
  title: 'Agents',
  group: 'Configure',
  order: 80,
  needs: ['agents.list'],
  wants: [
    'agents.create',
    'agents.delete',
    'agents.get',
    'agents.resume',
    'agents.suspend',
    'agents.update',
    'config.history',
    'config.patch',
    'config.read',
    'config.schema',
  ],
  load: async () => (await import('./Agents.tsx')).Agents,
};
