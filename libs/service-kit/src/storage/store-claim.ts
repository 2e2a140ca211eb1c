import type { BucketEntry, Bus } from '@switchyard/bus';
import { REPLICAS_BUCKET, type ServiceName } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { HealthReporter } from '../health/health-registry.ts';
import { readClaim, type ReplicaReport } from '../control-state/replica-reports.ts';
import { StartError } from '../variables/start-error.ts';

export interface ClaimStore {
  bus: Bus;
  service: ServiceName;
  report: ReplicaReport;
  health: Pick<HealthReporter, 'set'>;
  log: Logger;
  /** Aborts the wait for the report of a dead replica to expire. */
  signal?: AbortSignal | undefined;
}

/** TTL of a replica report. */
const EXPIRY_S = (REPLICAS_BUCKET.ttlMs ?? 0) / 1_000;

/**
 * Admits a replica only if all replicas of its service use the same database; with two databases each replica would see only some
 * of the sessions. The second replica with another database is rejected. A killed replica leaves its report until the TTL; a live one
 * reports again, at once when it sees the claim of a new replica. A new replica therefore waits for a second report or for the expiry. Disposing stops the watch that later detects
 * replicas with another database, for example after a machine was suspended.
 */
export async function claimStore(identity: string, options: ClaimStore): Promise<Disposable> {
  const { bus, service, report, health, log, signal } = options;
  const rivals = new Set<string>();
  const admitted = Promise.withResolvers<void>();
  admitted.promise.catch(() => undefined); // the rejection may come before the await
  let since = await report.claim({ identity, held: false });
  /** When the watch delivers this revision of our own report, it has delivered all earlier reports. */
  let requestCount = Infinity;
  let seen = 0;
  let held = false;

  function onEntry(entry: BucketEntry): void {
    if (entry.key === report.key) seen = entry.revision;
    else if (held && isContender(entry, identity)) answer();
    else if (!isRival(entry, identity, since)) rivals.delete(entry.key);
    else if (rivals.has(entry.key)) admitted.reject(new StartError(refusal(service, entry.key)));
    else rivals.add(entry.key);
    decide();
  }

  function decide(): void {
    if (held) health.set('store', rivals.size === 0, `replicas with another database: ${[...rivals].join(', ')}`);
    else if (seen >= requestCount && rivals.size === 0) admitted.resolve();
  }

  /** Reports again, so that the new replica knows that this one is alive. */
  function answer(): void {
    report.claim({ identity, held }).catch((err: unknown) => log.warn({ err }, 'failed to report the database of this replica; retrying'));
  }

  const abort = (): void => admitted.reject(signal?.reason);
  signal?.addEventListener('abort', abort);
  const watch = await (await bus.kv(REPLICAS_BUCKET)).watch(onEntry, { below: service });
  try {
    requestCount = await report.claim({ identity, held, since });
    if (rivals.size > 0) {
      log.warn({ replicas: [...rivals] }, 'found replicas with another database; waiting for their heartbeat');
      health.set('store', false, `waits up to ${EXPIRY_S} s for a heartbeat of ${[...rivals].join(', ')}, which use another database`);
    }
    decide();
    await admitted.promise;
    held = true;
    health.set('store', true);
    since = 0; // from now on only replicas that hold a database count
    await report.claim({ identity, held });
  } catch (error) {
    watch.stop();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
  return { [Symbol.dispose]: () => watch.stop() };
}

/** Whether a new replica asks for admission with another database. */
function isContender(entry: BucketEntry, identity: string): boolean {
  const claim = readClaim(entry);
  return claim !== undefined && claim.identity !== identity && !claim.held;
}

/** Whether another replica holds another database, or claimed one before this replica. */
function isRival(entry: BucketEntry, identity: string, since: number): boolean {
  const claim = readClaim(entry);
  if (claim === undefined || claim.identity === identity) return false;
  return claim.held || (claim.since ?? entry.revision) < since;
}

function refusal(service: string, rival: string): string {
  const replica = rival.slice(service.length + 1);
  return (
    `${service} already runs on this bus as ${replica} with another database. Each would store a part of the documents. ` +
    'Set the same SWITCHYARD_STORE for all replicas, run one replica, or use another SWITCHYARD_BUS.'
  );
}
