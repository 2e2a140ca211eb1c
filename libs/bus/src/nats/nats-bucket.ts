import { JetStreamApiCodes, JetStreamApiError, type JetStreamClient } from '@nats-io/jetstream';
import { Kvm, type KV, type KvEntry } from '@nats-io/kv';
import { busUnreachable, notProvisioned } from '../failures.ts';
import { checkKey } from '../keys.ts';
import type { Bucket, BucketEntry } from '../transport.ts';
import { isForbidden } from './nats-errors.ts';
import { openWatch, type WatchSource } from './nats-watch.ts';

/** How long watchers that were away can still learn that a key ran out. */
const MARKER_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;

interface Definition {
  name: string;
  ttlMs?: number;
}

/** Creates it if it is not there and we may. Read and written at the leader, so that a writer reads what it wrote. */
export async function ensureBucket(client: JetStreamClient, { name, ttlMs }: Definition): Promise<KV> {
  try {
    return await new Kvm(client).create(name, {
      history: 1,
      allow_direct: false,
      max_bytes: MAX_BYTES,
      ...(ttlMs === undefined ? {} : { ttl: ttlMs, markerTTL: Math.max(MARKER_MS, ttlMs) }),
    });
  } catch (error) {
    throw isForbidden(error) ? notProvisioned(`bucket ${name}`, error) : error;
  }
}

export async function openBucket(buckets: WatchSource & { client: JetStreamClient }, definition: Definition): Promise<Bucket> {
  const kv = await new Kvm(buckets.client).open(definition.name, { allow_direct: false });
  return {
    get: (key) => typed(async () => readEntry(key, await get(kv, key))),
    put: (key, value) => typed(() => kv.put(checked(key), value)),
    update: (key, value, revision) => typed(() => writeOver(kv, { key: checked(key), value, revision })),
    remove: (key) => typed(() => remove(kv, checked(key))),
    keys: () => typed(() => listKeys(buckets, definition.name)),
    watch: (onEntry) => openWatch(buckets, definition.name, onEntry),
  };
}

function checked(key: string): string {
  checkKey(key);
  return key;
}

function get(kv: KV, key: string): Promise<KvEntry | null> {
  return kv.get(checked(key));
}

function readEntry(key: string, entry: KvEntry | null): BucketEntry | undefined {
  if (entry === null || entry.operation !== 'PUT') return undefined;
  return { key, value: new Uint8Array(entry.value), revision: entry.revision };
}

async function writeOver(
  kv: KV,
  { key, value, revision }: { key: string; value: Uint8Array; revision: number },
): Promise<number | undefined> {
  try {
    return revision === 0 ? await kv.create(key, value) : await kv.update(key, value, revision);
  } catch (error) {
    if (isWrongRevision(error)) return undefined;
    throw error;
  }
}

function isWrongRevision(error: unknown): boolean {
  if (!(error instanceof JetStreamApiError)) return false;
  return error.code === JetStreamApiCodes.StreamWrongLastSequence || error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown;
}

/** The client does not return the revision of a removal, so it is read back. */
async function remove(kv: KV, key: string): Promise<number> {
  await kv.delete(key);
  return (await get(kv, key))?.revision ?? 0;
}

/** Read by a watch, which asks for no more rights than a service has anyway. */
async function listKeys(source: WatchSource, bucket: string): Promise<string[]> {
  const keys = new Set<string>();
  const watch = await openWatch(source, bucket, ({ key, value }) => void (value === undefined ? keys.delete(key) : keys.add(key)));
  watch.stop();
  return [...keys];
}

/** Whatever the client throws for a server that is not there, callers get one error. */
async function typed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    throw busUnreachable(error);
  }
}
