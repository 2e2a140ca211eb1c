import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { forEachItem, readMessages, run } from '../helm.ts';
import { CHARTS, TESTS } from '../render.ts';
import type { ChartCheck } from './context.ts';

const SUITES = join(TESTS, 'suites');

/** The suites of helm-unittest, one file per chart. They fake a cluster, which no golden can. */
export const runSuites: ChartCheck = {
  name: 'suites',
  findObstacle: ({ helmUnittest }) => (helmUnittest === undefined ? 'helm-unittest' : undefined),
  async run({ tools }) {
    const failures = await forEachItem(listSuites(), async (file) => {
      try {
        await run(tools.helmUnittest ?? '', [
          '--file',
          join('..', basename(TESTS), basename(SUITES), file),
          join(CHARTS, basename(file, '.yaml')),
        ]);
        return [];
      } catch (error) {
        return [`${file}: ${readMessages(error)}`];
      }
    });
    return failures.flat();
  },
};

/** helm-unittest adds a folder of snapshots beside the suites. */
function listSuites(): string[] {
  return readdirSync(SUITES).filter((file) => file.endsWith('.yaml'));
}
