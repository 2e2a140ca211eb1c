import { readRunFile } from '@switchyard/launcher';
import { endLeftovers, findLeftovers } from '../../scripts/cluster/leftovers.ts';

/*
 * Waits until its parent process has ended and then ends the cluster of this directory, because a killed parent cannot clean up.
 */

const GRACE_MS = 5_000;

const [, , data = ''] = process.argv;
for await (const _ of process.stdin);
await endLeftovers(await findLeftovers(readRunFile(data)?.processes ?? []), GRACE_MS);
