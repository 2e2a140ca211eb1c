import { MAX, ServiceError } from '@switchyard/contracts';
import type { ReplicaState, WatchedReplicas } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { changedPaths } from './config-changes.ts';
import { createDecision, publish, type ConfigDeps } from './write-config.ts';

/** Only younger versions are rolled back. An older version was accepted before, so that a refusal has another cause. */
const ROLLBACK_WINDOW_MS = 30_000;
const AUTHOR = 'switchyard';
const SHORT_HASH_LENGTH = 12;

interface AutomaticRollbackDeps extends Pick<ConfigDeps, 'versions' | 'publisher' | 'store'> {
  replicas: Pick<WatchedReplicas, 'onReport'>;
  log: Logger;
}

/**
 * Rolls back a version that a replica refuses, by writing a new version with the content of its parent. Every replica of the registry
 * tries; the first write wins.
 */
export function startAutomaticRollback(deps: AutomaticRollbackDeps): void {
  let handledRevision = 0;
  deps.replicas.onReport((state) => {
    const { refused } = state;
    if (refused === undefined || refused.revision === handledRevision) return;
    rollBack(deps, state.replica, refused).then(
      (handled) => void (handled && (handledRevision = refused.revision)),
      (err: unknown) =>
        deps.log.error({ err, ...refused }, 'failed to roll back a refused configuration version; retrying with the next report'),
    );
  });
}

/** Returns false if the version is not known here yet; the next report is then checked again. */
async function rollBack(
  deps: AutomaticRollbackDeps,
  replica: string,
  { revision, reason }: NonNullable<ReplicaState['refused']>,
): Promise<boolean> {
  const { versions, publisher, store, log } = deps;
  const [published, head] = [await publisher.published(), await versions.head()];
  if (published?.revision !== revision || published.sha !== head.sha) return false;
  if (head.parent === undefined || head.reason !== undefined || store.now() - head.at > ROLLBACK_WINDOW_MS) {
    log.error(
      { replica, reason, sha: head.sha },
      'a replica refuses the newest configuration; it is kept because it is not a recent change',
    );
    return true;
  }
  const before = await versions.find(head.parent);
  const cause = `${replica} refused ${head.sha.slice(0, SHORT_HASH_LENGTH)}: ${reason}`.slice(0, MAX.line);
  try {
    await versions.commit({ author: AUTHOR, message: `rolled back: ${cause}`.slice(0, MAX.line), baseSha: head.sha }, ({ layer }) =>
      createDecision(deps, {
        layer: before.layer,
        paths: changedPaths(layer, before.layer),
        author: AUTHOR,
        restores: before.sha,
        reason: cause,
      }),
    );
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ABORTED') return true;
    throw error;
  }
  log.error({ replica, reason, sha: head.sha, restores: before.sha }, 'a configuration version was refused and rolled back');
  await publish(deps, log);
  return true;
}
