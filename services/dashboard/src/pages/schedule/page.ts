import type { Page } from '../page.ts';

export const page: Page = {
  path: '/schedule',
  title: 'Schedule',
  group: 'Operate',
  order: 60,
  needs: ['cron.list'],
  wants: [
    'cron.add',
    'cron.next',
    'cron.remove',
    'cron.run',
    'cron.runs',
    'cron.status',
    'cron.update',
    'heartbeat.states',
    'heartbeat.trigger',
  ],
  load: async () => (await import('./Schedule.tsx')).Schedule,
};
