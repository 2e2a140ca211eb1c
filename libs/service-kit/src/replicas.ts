import type { Bucket, BucketEntry, Bus } from '@switchyard/bus';
import { REPLICAS_BUCKET } from '@switchyard/contracts';
import { silentLogger, type Logger } from '@switchyard/telemetry';
import { z } from 'zod';

/** Well within the time an entry lives without being written again. */
const REPEAT_MS = 5_000;

const Report = z.object({ revisions: z.record(z.string(), z.int().nonnegative()) });

/** Tells the others which revisions of which buckets are in force in this replica. */
export interface Revisions {
  applied(bucket: string, revision: number): void;
}

/** Reports under `<service>.<replica>`, at once and again every five seconds; disposing takes the report away. */
export async function reportRevisions(
  bus: Bus,
  service: string,
  replica: string,
  log: Logger = silentLogger(),
): Promise<Revisions & AsyncDisposable> {
  const bucket = await bus.kv(REPLICAS_BUCKET);
  const key = `${service}.${replica}`;
  const revisions: Record<string, number> = {};
  let writing: Promise<void> | undefined;
  let changed = false;

  function write(): void {
    changed = true;
    writing ??= writeChanges().finally(() => (writing = undefined));
  }

  async function writeChanges(): Promise<void> {
    while (changed) {
      changed = false;
      await put(bucket, key, revisions, log);
    }
  }

  const timer = setInterval(write, REPEAT_MS).unref();
  const unfollow = bus.onRestored(write);
  return {
    applied(name, revision) {
      if (revisions[name] === revision) return;
      revisions[name] = revision;
      write();
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      unfollow();
      changed = false;
      await writing;
      await bucket.remove(key).catch((err: unknown) => log.warn({ err }, 'the report of this replica stays until it expires'));
    },
  };
}

async function put(bucket: Bucket, key: string, revisions: Record<string, number>, log: Logger): Promise<void> {
  try {
    await bucket.put(key, Buffer.from(JSON.stringify({ revisions })));
  } catch (err) {
    log.warn({ err }, 'this replica could not report its revisions; it will again in a moment');
  }
}

export interface AwaitRevision {
  bus: Bus;
  service: string;
  bucket: string;
  revision: number;
  timeoutMs: number;
}

/** True once every live replica of the service reports at least this revision (at once when none lives), false at the time-out. */
export async function awaitRevision({ bus, service, bucket, revision, timeoutMs }: AwaitRevision): Promise<boolean> {
  const behind = new Set<string>();
  const outcome = Promise.withResolvers<boolean>();
  let complete = false;
  const settle = (): void => {
    if (complete && behind.size === 0) outcome.resolve(true);
  };

  const timer = setTimeout(outcome.resolve, timeoutMs, false);
  const watching = (await bus.kv(REPLICAS_BUCKET)).watch((entry) => {
    if (!entry.key.startsWith(`${service}.`)) return;
    if (isBehind(entry, bucket, revision)) behind.add(entry.key);
    else behind.delete(entry.key);
    settle();
  });
  watching.then(() => {
    complete = true;
    settle();
  }, outcome.reject);

  try {
    return await outcome.promise;
  } finally {
    clearTimeout(timer);
    void watching.then((watch) => watch.stop()).catch(outcome.reject);
  }
}

function isBehind({ value }: BucketEntry, bucket: string, revision: number): boolean {
  if (value === undefined) return false;
  const report = Report.safeParse(JSON.parse(Buffer.from(value).toString()));
  return !report.success || (report.data.revisions[bucket] ?? -1) < revision;
}
