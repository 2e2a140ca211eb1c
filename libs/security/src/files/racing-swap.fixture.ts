import { renameSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/** Swaps entries with links to the outside, again and again, until the main thread ends this one. */
const pairs = workerData as readonly (readonly [entry: string, link: string])[];

parentPort?.postMessage('started', []);
for (;;) {
  for (const [entry, link] of pairs) {
    const spare = `${entry}.spare`;
    renameSync(entry, spare);
    renameSync(link, entry);
    renameSync(entry, link);
    renameSync(spare, entry);
  }
}
