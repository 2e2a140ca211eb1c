import type { BucketEntry, Bus } from '@switchyard/bus';
import { REPLICAS_BUCKET, type BucketDefinition } from '@switchyard/contracts';
import { silentLogger, type Logger } from '@switchyard/telemetry';
import { z } from 'zod';

/** Well below the TTL of an entry in the replicas bucket. */
const REPEAT_MS = 15_000;

/** The database of a replica. */
export const StoreClaim = z.object({
  identity: z.string(),
  /** Whether the replica uses the database already; false while it waits for admission. */
  held: z.boolean(),
  /** Revision of the first report with this claim; absent in the first report itself. */
  since: z.int().optional(),
});
export type StoreClaim = z.infer<typeof StoreClaim>;

const Refused = z.object({ revision: z.int().nonnegative(), reason: z.string() });

const Report = z.object({
  revisions: z.record(z.string(), z.int().nonnegative()),
  /** By bucket: the revision that this replica rejects, and the reason. */
  refused: z.record(z.string(), Refused).optional(),
  store: StoreClaim.optional(),
  /** Id of the process run, and the readiness of the whole process. */
  process: z.string().optional(),
  ready: z.boolean().optional(),
});

/** Reports to other services which bucket revisions this replica has applied. */
export interface Revisions {
  applied(bucket: string, revision: number): void;
  /** Reports that this replica, or a part of it, rejects a revision. Cleared when another revision is applied. */
  refused(bucket: string, refusal: { revision: number; reason: string }): void;
}

/** One run of a process. */
export interface RunningIn {
  id: string;
  ready: () => boolean;
}

/** The report of this replica in the replicas bucket. */
export interface ReplicaReport extends Revisions, AsyncDisposable {
  /** `<service>.<replica>`. */
  readonly key: string;
  /** Reports the process of this replica and its readiness. Call it again when the readiness changes. */
  runsIn(process: RunningIn): void;
  /** Reports the database. Resolves with the revision of that report. */
  claim(store: StoreClaim): Promise<number>;
}

/** Writes the report `<service>.<replica>` on each change and every fifteen seconds. Disposing removes it. */
export async function reportRevisions(bus: Bus, service: string, replica: string, log: Logger = silentLogger()): Promise<ReplicaReport> {
  const bucket = await bus.kv(REPLICAS_BUCKET);
  const key = `${service}.${replica}`;
  const report: z.infer<typeof Report> = { revisions: {} };
  let writing: Promise<number> | undefined;
  let changed = false;
  let within: RunningIn | undefined;
  let closed = false;

  /** Resolves with the revision that contains all changes so far. Changes during a write are merged into the next one; those after the removal are ignored. */
  function write(): Promise<number> {
    if (closed) return Promise.resolve(0);
    changed = true;
    return (writing ??= writeChanges().finally(() => (writing = undefined)));
  }

  async function writeChanges(): Promise<number> {
    let revision = 0;
    while (changed) {
      changed = false;
      const now = within === undefined ? report : { ...report, process: within.id, ready: within.ready() };
      revision = await bucket.put(key, Buffer.from(JSON.stringify(now)));
    }
    return revision;
  }

  function writeOrWarn(): void {
    write().catch((err: unknown) => log.warn({ err }, 'failed to report the revisions of this replica; retrying'));
  }

  const timer = setInterval(writeOrWarn, REPEAT_MS).unref();
  const unfollow = bus.onRestored(writeOrWarn);
  return {
    key,
    applied(name, revision) {
      if (report.revisions[name] === revision) return;
      report.revisions[name] = revision;
      if (report.refused?.[name]?.revision !== revision) delete report.refused?.[name];
      writeOrWarn();
    },
    refused(name, refusal) {
      report.refused = { ...report.refused, [name]: refusal };
      writeOrWarn();
    },
    runsIn(process) {
      within = process;
      writeOrWarn();
    },
    claim(store) {
      report.store = store;
      return write();
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      unfollow();
      [closed, changed] = [true, false];
      await writing?.catch(() => undefined);
      await bucket
        .remove(key)
        .catch((err: unknown) => log.warn({ err }, 'failed to remove the report of this replica; it expires by itself'));
    },
  };
}

/** Counts the live replicas of a service; at least one. */
export async function countReplicas(bus: Bus, service: string): Promise<{ count: () => number } & Disposable> {
  const live = new Set<string>();
  const bucket = await bus.kv(REPLICAS_BUCKET);
  const watch = await bucket.watch(
    ({ key, value }) => {
      if (value === undefined) live.delete(key);
      else live.add(key);
    },
    { below: service },
  );
  return { count: () => Math.max(1, live.size), [Symbol.dispose]: () => watch.stop() };
}

/** The report of a live replica about one bucket. */
export interface ReplicaState {
  /** `<service>.<replica>`. */
  replica: string;
  /** The applied revision; undefined before the first one. */
  revision: number | undefined;
  refused: { revision: number; reason: string } | undefined;
  /** Id of its process, if reported, and the readiness of that process. */
  process: string | undefined;
  ready: boolean;
}

export interface AwaitRevision {
  service: string;
  revision: number;
  timeoutMs: number;
}

/**
 * The reports of all live replicas about one bucket, always current. When the bus loses its data, replicas stay listed until they
 * had time to report again; therefore open this at the start and keep it open.
 */
export interface WatchedReplicas extends Disposable {
  /** Returns the same array until a report changes. */
  all(): readonly ReplicaState[];
  /** Calls the listener with the existing reports and with each new one. */
  onReport(listener: (state: ReplicaState) => void): void;
  /** Resolves with true once every live replica of the service reports at least this revision (at once if there is none), with false at the timeout. */
  awaitRevision(requested: AwaitRevision): Promise<boolean>;
}

export async function watchReplicas(bus: Bus, { name }: BucketDefinition): Promise<WatchedReplicas> {
  const states = new Map<string, ReplicaState>();
  const listeners: ((state: ReplicaState) => void)[] = [];
  const waiting = new Set<() => void>();
  let all: readonly ReplicaState[] | undefined;
  const watch = await (
    await bus.kv(REPLICAS_BUCKET)
  ).watch((entry) => {
    take(entry.key, readReport(entry));
    for (const look of waiting) look();
  });

  function take(replica: string, report: z.infer<typeof Report> | undefined): void {
    all = undefined;
    if (report === undefined) {
      states.delete(replica);
      return;
    }
    const { process, ready = false } = report;
    const state = { replica, revision: report.revisions[name], refused: report.refused?.[name], process, ready };
    states.set(replica, state);
    for (const listener of listeners) listener(state);
  }

  return {
    all: () => (all ??= [...states.values()]),
    onReport(listener) {
      listeners.push(listener);
      for (const state of states.values()) listener(state);
    },
    async awaitRevision({ service, revision, timeoutMs }) {
      const isBehind = (state: ReplicaState): boolean => state.replica.startsWith(`${service}.`) && (state.revision ?? -1) < revision;
      const outcome = Promise.withResolvers<boolean>();
      const look = (): void => {
        if (!states.values().some(isBehind)) outcome.resolve(true);
      };
      const timer = setTimeout(outcome.resolve, timeoutMs, false);
      waiting.add(look);
      look();
      try {
        return await outcome.promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(look);
      }
    },
    [Symbol.dispose]: () => watch.stop(),
  };
}

function readReport({ value }: BucketEntry): z.infer<typeof Report> | undefined {
  return value === undefined ? undefined : Report.safeParse(JSON.parse(Buffer.from(value).toString())).data;
}

/** Returns the reported database of a replica, if any. */
export function readClaim(entry: BucketEntry): StoreClaim | undefined {
  return readReport(entry)?.store;
}
