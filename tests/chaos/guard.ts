import { readRunFile } from '@switchyard/launcher';
import { endLeftovers, findLeftovers } from '../../scripts/cluster/leftovers.ts';

/*
 * Waits until the process that started it is gone, however that ended, and ends the cluster which that one ran in this directory: one
 * that is killed tidies up nothing itself.
 */

const GRACE_MS = 5_000;

const [, , data = ''] = process.argv;
for await (const _ of process.stdin);
await endLeftovers(await findLeftovers(readRunFile(data)?.processes ?? []), GRACE_MS);
