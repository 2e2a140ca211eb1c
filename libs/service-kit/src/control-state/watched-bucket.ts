import type { BucketEntry, Bus } from '@switchyard/bus';
import type { BucketDefinition } from '@switchyard/contracts';
import { silentLogger, type Logger } from '@switchyard/telemetry';
import type { z } from 'zod';

/** A KV bucket as a map that follows all changes. */
export interface WatchedBucket<T> extends AsyncDisposable {
  readonly entries: ReadonlyMap<string, T>;
  /** The newest applied revision. */
  readonly revision: number;
  /** Epoch ms since which the entries may be outdated, because the watch is interrupted; undefined while it works. */
  lostSince(): number | undefined;
  /** Calls the listener after each change, with undefined for a removed key. Returns a function that unsubscribes it. */
  onChange(listener: (key: string, value: T | undefined) => void): () => void;
}

/** Resolves once all existing entries are read. Entries that do not match the schema are logged and skipped. */
export async function watchBucket<S extends z.ZodType>(
  bus: Bus,
  definition: BucketDefinition,
  schema: S,
  log: Logger = silentLogger(),
): Promise<WatchedBucket<z.output<S>>> {
  const entries = new Map<string, z.output<S>>();
  const listeners = new Set<(key: string, value: z.output<S> | undefined) => void>();
  let revision = 0;

  function apply(entry: BucketEntry): void {
    const value = entry.value === undefined ? undefined : parseEntry(entry.value, schema);
    if (entry.value !== undefined && value === undefined) {
      log.warn({ bucket: definition.name, entry: entry.key, revision: entry.revision }, 'skipped an invalid entry');
    }
    if (value === undefined) entries.delete(entry.key);
    else entries.set(entry.key, value);
    revision = entry.revision; // revisions only grow; 0 after the bus lost its data and before a new write
    for (const listener of listeners) notify(listener, entry.key, value);
  }

  function notify(listener: (key: string, value: z.output<S> | undefined) => void, key: string, value: z.output<S> | undefined): void {
    try {
      listener(key, value);
    } catch (err) {
      log.error({ err, bucket: definition.name, entry: key }, 'failed to apply a change');
    }
  }

  const watch = await (await bus.kv(definition)).watch(apply);

  return {
    entries,
    get revision() {
      return revision;
    },
    lostSince: () => watch.lostSince(),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async [Symbol.asyncDispose]() {
      watch.stop();
    },
  };
}

function parseEntry<S extends z.ZodType>(bytes: Uint8Array, schema: S): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(bytes).toString())).data;
  } catch {
    return undefined;
  }
}
