import type { Page } from '../page.ts';

export const page: Page = {
  path: '/cost',
  title: 'Cost',
  group: 'Inspect',
  order: 135,
  needs: ['obs.billing.total'],
  wants: ['agents.list', 'obs.billing.byAgent', 'obs.billing.byProvider', 'obs.billing.usage24h', 'obs.getCacheStats'],
  load: async () => (await import('./Cost.tsx')).Cost,
};
