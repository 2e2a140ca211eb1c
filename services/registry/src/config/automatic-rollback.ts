import { MAX, ServiceError } from '@switchyard/contracts';
import type { ReplicaState, WatchedReplicas } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { changedPaths } from './config-changes.ts';
import { decision, tell, type ConfigGiven } from './write-config.ts';

/** Only younger versions are rolled back. An older version was accepted before, so that a refusal has another cause. */
const ON_TRIAL_MS = 30_000;
const AUTHOR = 'switchyard';
const SHORT = 12;

interface Given extends Pick<ConfigGiven, 'versions' | 'publisher' | 'store'> {
  replicas: Pick<WatchedReplicas, 'onReport'>;
  log: Logger;
}

/**
 * Rolls back a version that a replica refuses, by writing a new version with the content of its parent. Every replica of the registry
 * tries; the first write wins.
 */
export function rollBackRefused(given: Given): void {
  let done = 0;
  given.replicas.onReport((state) => {
    const { refused } = state;
    if (refused === undefined || refused.revision === done) return;
    rollBack(given, state.replica, refused).then(
      (settled) => void (settled && (done = refused.revision)),
      (err: unknown) =>
        given.log.error({ err, ...refused }, 'failed to roll back a refused configuration version; retrying with the next report'),
    );
  });
}

/** Returns false if the version is not known here yet; the next report is then checked again. */
async function rollBack(given: Given, replica: string, { revision, reason }: NonNullable<ReplicaState['refused']>): Promise<boolean> {
  const { versions, publisher, store, log } = given;
  const [told, head] = [await publisher.told(), await versions.head()];
  if (told?.revision !== revision || told.sha !== head.sha) return false;
  if (head.parent === undefined || head.reason !== undefined || store.now() - head.at > ON_TRIAL_MS) {
    log.error(
      { replica, reason, sha: head.sha },
      'a replica refuses the newest configuration; it is kept because it is not a recent change',
    );
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
  log.error({ replica, reason, sha: head.sha, restores: before.sha }, 'a configuration version was refused and rolled back');
  await tell(given, log);
  return true;
}
