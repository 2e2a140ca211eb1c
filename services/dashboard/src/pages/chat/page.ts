import type { Page } from '../page.ts';

export const page: Page = {
  path: '/chat',
  title: 'Chat',
  group: 'Operate',
  order: 20,
  needs: ['agent.stream'],
  wants: ['agent.cancel', 'agents.list', 'session.history', 'session.run_status'],
  load: async () => (await import('./Chat.tsx')).Chat,
};
