import type { Bus } from '@switchyard/bus';
import { MAX, ServiceError } from '@switchyard/contracts';
import type { ReplicaState } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { changedPaths } from './config-changes.ts';
import { recordRollback, ROLLBACK_AUTHOR, type RollbackAuditDeps } from './rollback-audit.ts';
import { watchReports, type ReportTimeoutDeps } from './report-timeout.ts';
import { createDecision, publish, type ConfigDeps } from './write-config.ts';

/** Only younger versions are rolled back. An older version was accepted before, so that a refusal has another cause. */
const ROLLBACK_WINDOW_MS = 30_000;
const SHORT_HASH_LENGTH = 12;

interface AutomaticRollbackDeps
  extends
    Pick<ConfigDeps, 'versions' | 'publisher' | 'store'>,
    Omit<RollbackAuditDeps, 'log'>,
    Pick<ReportTimeoutDeps, 'clock' | 'replicas'> {
  bus: Pick<Bus, 'as' | 'isReplicaConnected'>;
  log: Logger;
}

/** A replica that does not run a published version. */
interface Objection {
  replica: string;
  revision: number;
  reason: string;
}

/**
 * Rolls back a version that a replica refuses or does not apply in time, by writing a new version with the content of its parent. Every
 * replica of the registry tries; the first write wins.
 */
export function startAutomaticRollback(deps: AutomaticRollbackDeps): Disposable {
  let handledRevision = 0;
  const handle = (objection: Objection): void => {
    if (objection.revision === handledRevision) return;
    rollBack(deps, objection).then(
      (handled) => void (handled && (handledRevision = objection.revision)),
      (err: unknown) => deps.log.error({ err, ...objection }, 'failed to roll back a configuration version; retrying with the next report'),
    );
  };
  deps.replicas.onReport(({ replica, refused }: ReplicaState) => {
    if (refused !== undefined) handle({ replica, revision: refused.revision, reason: `refused it: ${refused.reason}` });
  });
  return watchReports(deps, handle);
}

/** Returns false if the version is not known here yet; the next report is then checked again. */
async function rollBack(deps: AutomaticRollbackDeps, { replica, revision, reason }: Objection): Promise<boolean> {
  const { versions, publisher, store, log } = deps;
  const [published, head] = [await publisher.published(), await versions.head()];
  if (published?.revision !== revision || published.sha !== head.sha) return false;
  if (head.parent === undefined || head.reason !== undefined || store.now() - head.at > ROLLBACK_WINDOW_MS) {
    log.error(
      { replica, reason, sha: shorten(head.sha) },
      'a replica does not run the newest configuration; it is kept because it is not a recent change',
    );
    return true;
  }
  const before = await versions.find(head.parent);
  const cause = `${shorten(head.sha)}: ${replica} ${reason}`.slice(0, MAX.line);
  const metadata = { author: ROLLBACK_AUTHOR, message: `rolled back ${cause}`.slice(0, MAX.line), baseSha: head.sha };
  try {
    const { sha: newSha } = await versions.commit(metadata, ({ layer }) =>
      createDecision(deps, {
        layer: before.layer,
        paths: changedPaths(layer, before.layer),
        author: ROLLBACK_AUTHOR,
        restores: before.sha,
        reason: cause,
      }),
    );
    const auditId = recordRollback(deps, newSha);
    const [rolledBack, restores, sha] = [head.sha, before.sha, newSha].map(shorten);
    log.error({ auditId, replica, reason, sha, rolledBack, restores }, 'a configuration version was rolled back');
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ABORTED') return true;
    throw error;
  }
  await publish(deps, log);
  return true;
}

/** Logs redact a whole hash. */
function shorten(sha: string): string {
  return sha.slice(0, SHORT_HASH_LENGTH);
}
