import type { Page } from '../page.ts';

export const page: Page = {
  path: '/graphs',
  title: 'Graphs',
  group: 'Operate',
  order: 70,
  needs: ['graph.list'],
  wants: [
    'graph.cancel',
    'graph.define',
    'graph.delete',
    'graph.deleteRun',
    'graph.execute',
    'graph.load',
    'graph.outputs',
    'graph.resume',
    'graph.runs',
    'graph.save',
    'graph.status',
  ],
  load: async () => (await import('./Graphs.tsx')).Graphs,
};
