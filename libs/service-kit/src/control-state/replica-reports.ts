import type { BucketEntry, Bus } from '@switchyard/bus';
import { REPLICAS_BUCKET, type BucketDefinition } from '@switchyard/contracts';
import { silentLogger, type Logger } from '@switchyard/telemetry';
import { z } from 'zod';

/** Well below the time after which an entry that is not rewritten expires. */
const REPEAT_MS = 5_000;

/** Which database a replica keeps its documents in. */
export const StoreClaim = z.object({
  identity: z.string(),
  /** Whether it works with it already, or still asks whether it may. */
  held: z.boolean(),
  /** The revision of the report that asked first; until that is known, the one of the report itself. */
  since: z.int().optional(),
});
export type StoreClaim = z.infer<typeof StoreClaim>;

const Refused = z.object({ revision: z.int().nonnegative(), reason: z.string() });

const Report = z.object({
  revisions: z.record(z.string(), z.int().nonnegative()),
  /** By bucket, the revision that is not taken here, and why. */
  refused: z.record(z.string(), Refused).optional(),
  store: StoreClaim.optional(),
  /** Of this run, and whether all that runs in it can work. */
  process: z.string().optional(),
  ready: z.boolean().optional(),
});

/** Tells the others which revisions of which buckets are in force in this replica. */
export interface Revisions {
  applied(bucket: string, revision: number): void;
  /** This revision is not taken, or not by all that is here; until another one is applied. */
  refused(bucket: string, refusal: { revision: number; reason: string }): void;
}

/** A process, for as long as it runs. */
export interface RunningIn {
  id: string;
  ready: () => boolean;
}

/** What the others know of this replica. */
export interface ReplicaReport extends Revisions, AsyncDisposable {
  /** `<service>.<replica>`. */
  readonly key: string;
  /** Tells in which process this replica runs, and whether that can work: now, and each time it is said again. */
  runsIn(process: RunningIn): void;
  /** Resolves with the revision of the report that tells it. */
  claim(store: StoreClaim): Promise<number>;
}

/** Reports under `<service>.<replica>`, at once and again every five seconds; disposing takes the report away. */
export async function reportRevisions(bus: Bus, service: string, replica: string, log: Logger = silentLogger()): Promise<ReplicaReport> {
  const bucket = await bus.kv(REPLICAS_BUCKET);
  const key = `${service}.${replica}`;
  const report: z.infer<typeof Report> = { revisions: {} };
  let writing: Promise<number> | undefined;
  let changed = false;
  let within: RunningIn | undefined;

  /** Resolves with the revision under which everything told so far stands. */
  function write(): Promise<number> {
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
    write().catch((err: unknown) => log.warn({ err }, 'this replica could not report its revisions; it will again in a moment'));
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
      changed = false;
      await writing?.catch(() => undefined);
      await bucket.remove(key).catch((err: unknown) => log.warn({ err }, 'the report of this replica stays until it expires'));
    },
  };
}

/** How many replicas of a service say that they live; one at the least. */
export async function countReplicas(bus: Bus, service: string): Promise<{ count: () => number } & Disposable> {
  const live = new Set<string>();
  const bucket = await bus.kv(REPLICAS_BUCKET);
  const watch = await bucket.watch(({ key, value }) => {
    if (!key.startsWith(`${service}.`)) return;
    if (value === undefined) live.delete(key);
    else live.add(key);
  });
  return { count: () => Math.max(1, live.size), [Symbol.dispose]: () => watch.stop() };
}

/** What a live replica says of one bucket. */
export interface ReplicaState {
  /** `<service>.<replica>`. */
  replica: string;
  /** That it runs; undefined before it runs any. */
  revision: number | undefined;
  refused: { revision: number; reason: string } | undefined;
  /** In which process it runs, if it says so, and whether that can work. */
  process: string | undefined;
  ready: boolean;
}

export interface AwaitRevision {
  service: string;
  revision: number;
  timeoutMs: number;
}

/**
 * What every live replica of every service says of one bucket, always current. A bus that lost the reports loses no replica here
 * until it had the time to report again: whoever has to know who is there opens this before, and keeps it open.
 */
export interface WatchedReplicas extends Disposable {
  /** The same array until one of them says something new. */
  all(): readonly ReplicaState[];
  /** Called with each report that comes, and with those that are there already. */
  onReport(listener: (state: ReplicaState) => void): void;
  /** True once every live replica of the service reports at least this revision (at once when none lives), false at the time-out. */
  awaitRevision(wanted: AwaitRevision): Promise<boolean>;
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

/** The database that a replica reports, if it reports one. */
export function readClaim(entry: BucketEntry): StoreClaim | undefined {
  return readReport(entry)?.store;
}
