import { DiscardPolicy, JetStreamApiCodes, RetentionPolicy, StorageType, type JetStreamManager } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { BucketDefinition } from '@switchyard/contracts';
import { decodeJson, EMPTY } from '../wire/encoding.ts';
import { busUnreachableError } from '../wire/errors.ts';
import { formatHeaders } from '../wire/headers.ts';
import { checkKey } from '../wire/validation.ts';
import type { Bucket, BucketEntry, Outgoing } from '../wire/transport.ts';
import { requestMany, type NatsRequester } from './nats-request.ts';
import { DELETE_HEADERS, isDeletion, keySubject } from './nats-bucket-entry.ts';
import { mapNatsErrors } from './nats-errors.ts';
import { formatReplicaConfig, ensureStream } from './nats-streams.ts';
import { openWatch } from './nats-watch.ts';

/** How long watchers that were disconnected can still learn that a key expired. */
const MARKER_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const DEDUPE_MS = 120_000;
const EXPECTED_REVISION = 'Nats-Expected-Last-Subject-Sequence';

/** Creates the bucket or updates its configuration, as far as permitted. It is compatible with the KV buckets of NATS tools. */
export async function ensureBucket(manager: JetStreamManager, { name, ttlMs, copies }: BucketDefinition): Promise<void> {
  const runsOut =
    ttlMs === undefined
      ? {}
      : {
          max_age: nanos(ttlMs),
          duplicate_window: nanos(Math.min(DEDUPE_MS, ttlMs)),
          allow_msg_ttl: true,
          subject_delete_marker_ttl: nanos(Math.max(MARKER_MS, ttlMs)),
        };
  await ensureStream(manager, `bucket ${name}`, {
    name: streamName(name),
    subjects: [keySubject(name, '>')],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: 1,
    max_bytes: MAX_BYTES,
    allow_rollup_hdrs: true,
    // Reads go to the leader, so that a writer reads its own writes.
    allow_direct: false,
    ...runsOut,
    ...formatReplicaConfig(copies),
    // A recreated bucket starts above every revision of the lost one, because no bucket is written every millisecond.
    first_seq: Date.now(),
  });
}

export interface NatsBuckets extends NatsRequester {
  manager: JetStreamManager;
}

export function openBucket(buckets: NatsBuckets, { name }: BucketDefinition): Bucket {
  const bucket = { ...buckets, name };
  const subject = (key: string): string => keySubject(name, checked(key));
  return {
    get: (key) => mapNatsErrors(() => read(bucket, checked(key))),
    // Values are copied, because the caller may change them before they are sent.
    put: (key, value) => mapNatsErrors(() => storeAlways(bucket, { subject: subject(key), data: new Uint8Array(value) })),
    update: (key, value, revision) => mapNatsErrors(() => update(bucket, checked(key), new Uint8Array(value), revision)),
    remove: (key) => mapNatsErrors(() => storeAlways(bucket, { subject: subject(key), data: EMPTY, headers: DELETE_HEADERS })),
    keys: () => mapNatsErrors(() => listKeys(bucket)),
    watch: (onEntry, options) => openWatch(bucket, name, onEntry, options),
  };
}

type OpenBucket = NatsBuckets & { name: string };

function streamName(bucket: string): string {
  return `KV_${bucket}`;
}

function checked(key: string): string {
  checkKey(key);
  return key;
}

interface StoredEntry {
  revision: number;
  /** Undefined for the marker of a deleted or expired key. */
  value: Uint8Array | undefined;
}

async function read(bucket: OpenBucket, key: string): Promise<BucketEntry | undefined> {
  const entry = await findEntry(bucket, key);
  return entry?.value === undefined ? undefined : { key, value: entry.value, revision: entry.revision };
}

async function findEntry({ manager, name }: OpenBucket, key: string): Promise<StoredEntry | undefined> {
  const stored = await manager.streams.getMessage(streamName(name), { last_by_subj: keySubject(name, key) });
  if (stored === null) return undefined;
  const deleted = isDeletion((header) => stored.header?.get(header));
  return { revision: stored.seq, value: deleted ? undefined : new Uint8Array(stored.data) };
}

/** Writes the value if `revision` is the current one. Returns undefined otherwise. */
async function update(bucket: OpenBucket, key: string, value: Uint8Array, revision: number): Promise<number | undefined> {
  const subject = keySubject(bucket.name, key);
  for (let expected = revision; ;) {
    const headers = formatHeaders([EXPECTED_REVISION, String(expected)]);
    const written = await store(bucket, { subject, data: value, headers });
    if (written !== undefined || revision !== 0) return written;
    // A deleted or expired key has a marker in the stream, whose revision the server expects instead of 0.
    const current = await findEntry(bucket, key);
    if (current?.value !== undefined) return undefined;
    expected = current?.revision ?? 0;
  }
}

async function storeAlways(bucket: OpenBucket, message: Outgoing): Promise<number> {
  const revision = await store(bucket, message);
  if (revision === undefined) throw busUnreachableError(new Error('the server rejected a write without an expected revision'));
  return revision;
}

interface PublishAck {
  seq: number;
  error?: { err_code: number; description: string };
}

/** Returns the new revision, or undefined if the key does not have the expected revision. */
async function store(bucket: OpenBucket, message: Outgoing): Promise<number | undefined> {
  const [answer] = await requestMany(bucket, message, () => true);
  if (answer === undefined || answer.status === 503) throw busUnreachableError();
  const { seq, error } = decodeJson(answer.data) as PublishAck;
  if (error === undefined) return seq;
  if (isWrongRevision(error.err_code)) return undefined;
  throw busUnreachableError(new Error(error.description));
}

function isWrongRevision(code: number): boolean {
  return code === JetStreamApiCodes.StreamWrongLastSequence || code === JetStreamApiCodes.StreamWrongLastSequenceUnknown;
}

/** Uses a watch, which needs no additional permissions. */
async function listKeys(bucket: OpenBucket): Promise<string[]> {
  const keys = new Set<string>();
  const applyEntry = ({ key, value }: BucketEntry): void => void (value === undefined ? keys.delete(key) : keys.add(key));
  const watch = await openWatch(bucket, bucket.name, applyEntry);
  watch.stop();
  return [...keys];
}
