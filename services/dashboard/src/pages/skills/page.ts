import type { Page } from '../page.ts';

export const page: Page = {
  path: '/skills',
  title: 'Skills',
  group: 'Configure',
  order: 97,
  needs: ['skills.list'],
  wants: ['agents.list', 'skills.create', 'skills.delete', 'skills.import', 'skills.update', 'skills.upload'],
  load: async () => (await import('./Skills.tsx')).Skills,
};
