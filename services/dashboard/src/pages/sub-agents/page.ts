import type { Page } from '../page.ts';

export const page: Page = {
  path: '/sub-agents',
  title: 'Sub-agents',
  group: 'Operate',
  order: 55,
  needs: ['subagent.list'],
  wants: ['session.run_status', 'session.spawn', 'subagent.kill', 'subagent.steer'],
  load: async () => (await import('./SubAgents.tsx')).SubAgents,
};
