import type { Page } from '../page.ts';

export const page: Page = {
  path: '/approvals',
  title: 'Approvals',
  group: 'Operate',
  order: 50,
  needs: ['admin.approval.pending'],
  wants: ['admin.approval.clearDenialCache', 'admin.approval.resolve', 'admin.approval.resolveAll'],
  load: async () => (await import('./Approvals.tsx')).Approvals,
};
