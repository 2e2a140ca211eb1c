import type { Bus } from '@switchyard/bus';
import { SERVICES, type ServiceName } from '@switchyard/contracts';
import type { Clock, ReplicaState, WatchedReplicas } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { Publisher, PublishedVersion } from './head-publisher.ts';

/**
 * Time in which each replica reports a published version. A replica that hangs is listed for at least ten seconds: its report expires
 * after fifteen, and is repeated every five.
 */
export const REPORT_TIMEOUT_MS = 8_000;

export interface ReportTimeoutDeps {
  bus: Pick<Bus, 'isReplicaConnected'>;
  publisher: Pick<Publisher, 'onPublished'>;
  replicas: Pick<WatchedReplicas, 'onReport' | 'all'>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
}

interface UnreportedVersion {
  replica: string;
  revision: number;
  reason: string;
}

/**
 * Reports a replica that hangs: it is connected but does not report the newest version in time. A replica that crashed has lost its
 * connection and is ignored, because it reads the version at its next start. A replica is reported once until it runs the newest version
 * again, so that it does not prevent later changes.
 */
export function watchReports(deps: ReportTimeoutDeps, onTimeout: (version: UnreportedVersion) => void): Disposable {
  const { publisher, replicas, clock, log } = deps;
  const unresponsive = new Set<string>();
  let newest: PublishedVersion | undefined;
  let cancel = (): void => undefined;

  async function check({ revision }: PublishedVersion): Promise<void> {
    const listed = replicas.all();
    for (const replica of unresponsive.difference(new Set(listed.map((state) => state.replica)))) unresponsive.delete(replica);
    for (const state of listed) {
      const { replica } = state;
      if (hasReported(state, revision) || unresponsive.has(replica) || !(await isConnected(deps, replica))) continue;
      unresponsive.add(replica);
      onTimeout({ replica, revision, reason: `did not apply it within ${REPORT_TIMEOUT_MS / 1_000} s` });
    }
  }

  replicas.onReport((state) => {
    if (newest !== undefined && hasReported(state, newest.revision)) unresponsive.delete(state.replica);
  });
  const unsubscribe = publisher.onPublished((version) => {
    newest = version;
    cancel();
    cancel = clock.after(REPORT_TIMEOUT_MS, () => {
      check(version).catch((err: unknown) => log.warn({ err }, 'failed to check which replicas run the newest configuration'));
    });
  });
  return {
    [Symbol.dispose]() {
      unsubscribe();
      cancel();
    },
  };
}

/** A replica without a revision is starting. */
function hasReported({ revision, refused }: ReplicaState, published: number): boolean {
  return revision === undefined || revision >= published || refused?.revision === published;
}

async function isConnected({ bus }: ReportTimeoutDeps, key: string): Promise<boolean> {
  const [service, replica] = [key.slice(0, key.indexOf('.')), key.slice(key.indexOf('.') + 1)];
  return isService(service) && bus.isReplicaConnected(service, replica);
}

function isService(name: string): name is ServiceName {
  return (SERVICES as readonly string[]).includes(name);
}
