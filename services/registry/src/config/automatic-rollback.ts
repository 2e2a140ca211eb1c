import { MAX, ServiceError } from '@switchyard/contracts';
import type { ReplicaState, WatchedReplicas } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { changedPaths } from './config-changes.ts';
import { decision, tell, type ConfigGiven } from './write-config.ts';

/** A version that was in force for longer was taken by those who were there: whoever refuses it then has a fault of its own. */
const ON_TRIAL_MS = 30_000;
const AUTHOR = 'switchyard';
const SHORT = 12;

interface Given extends Pick<ConfigGiven, 'versions' | 'publisher' | 'store'> {
  replicas: Pick<WatchedReplicas, 'onReport'>;
  log: Logger;
}

/**
 * A version that a replica does not take is taken back: the one before it becomes the newest, by a write as any other. Every
 * replica of the registry hears of it and tries; the first one does it.
 */
export function rollBackRefused(given: Given): void {
  let done = 0;
  given.replicas.onReport((state) => {
    const { refused } = state;
    if (refused === undefined || refused.revision === done) return;
    rollBack(given, state.replica, refused).then(
      (settled) => void (settled && (done = refused.revision)),
      (err: unknown) => given.log.error({ err, ...refused }, 'a version of the configuration that was refused is not taken back yet'),
    );
  });
}

/** False when it is not known yet, so that the next report is looked at again. */
async function rollBack(given: Given, replica: string, { revision, reason }: NonNullable<ReplicaState['refused']>): Promise<boolean> {
  const { versions, publisher, store, log } = given;
  const [told, head] = [await publisher.told(), await versions.head()];
  if (told?.revision !== revision || told.sha !== head.sha) return false;
  if (head.parent === undefined || head.reason !== undefined || store.now() - head.at > ON_TRIAL_MS) {
    log.error({ replica, reason, sha: head.sha }, 'a replica refuses the newest configuration, which stays: it is no new change');
    return true;
  }
  const before = await versions.find(head.parent);
  const why = `${replica} refused ${head.sha.slice(0, SHORT)}: ${reason}`.slice(0, MAX.line);
  try {
    await versions.commit({ author: AUTHOR, message: `rolled back: ${why}`.slice(0, MAX.line), baseSha: head.sha }, ({ layer }) =>
      decision(given, { layer: before.layer, paths: changedPaths(layer, before.layer), by: AUTHOR, restores: before.sha, reason: why }),
    );
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ABORTED') return true;
    throw error;
  }
  log.error({ replica, reason, sha: head.sha, restores: before.sha }, 'a version of the configuration was refused and is rolled back');
  await tell(given, log);
  return true;
}
