import type { Page } from '../page.ts';

export const page: Page = {
  path: '/fleet-health',
  title: 'Fleet health',
  group: 'Inspect',
  order: 136,
  needs: ['obs.fleet.health'],
  wants: ['obs.channels.all', 'obs.delivery.stats', 'obs.diagnostics'],
  load: async () => (await import('./FleetHealth.tsx')).FleetHealth,
};
