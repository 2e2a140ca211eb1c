import { setTimeout as sleep } from 'node:timers/promises';
import {
  DiscardPolicy,
  JetStreamApiCodes,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type MsgRequest,
  type StoredMsg,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { BucketDefinition } from '@switchyard/contracts';
import { decodeJson } from '../bytes.ts';
import { busUnreachable, halfValue } from '../failures.ts';
import { checkKey } from '../keys.ts';
import type { Bucket, BucketEntry } from '../transport.ts';
import { ask, type NatsAsker } from './nats-ask.ts';
import { typed } from './nats-errors.ts';
import { copiesOf, ensureStream } from './nats-streams.ts';
import { changeOf, keySubject, partOf, readHead, type Change, type Head } from './nats-value.ts';
import { openWatch } from './nats-watch.ts';

/** How long watchers that were away can still learn that a key ran out. */
const MARKER_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const DEDUPE_MS = 120_000;
/** What runs out does so within moments, part by part; longer than this it is something else. */
const RUNS_OUT_MS = 1_000;
const AGAIN_MS = 20;

/** Creates it, or brings the one that is there to its definition, where we may. Tools of NATS take it for a KV bucket, which it is. */
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
    name: streamOf(name),
    subjects: [keySubject(name, '>')],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: 1,
    max_bytes: MAX_BYTES,
    allow_rollup_hdrs: true,
    // Read and written at the leader, so that a writer reads what it wrote.
    allow_direct: false,
    allow_atomic: true,
    ...runsOut,
    ...copiesOf(copies),
    // A bucket that is made anew after a loss begins past every revision of the lost one: nobody writes each millisecond.
    first_seq: Date.now(),
  });
}

export interface NatsBuckets extends NatsAsker {
  manager: JetStreamManager;
}

export function openBucket(buckets: NatsBuckets, { name }: BucketDefinition): Bucket {
  const of = { ...buckets, name };
  return {
    get: (key) => typed(() => read(of, checked(key))),
    put: (key, value) => typed(() => write(of, checked(key), value)),
    update: (key, value, revision) => typed(() => writeOver(of, checked(key), { value: new Uint8Array(value), revision })),
    remove: (key) => typed(() => write(of, checked(key), undefined)),
    keys: () => typed(() => listKeys(of)),
    watch: (onEntry) => openWatch(of, name, onEntry),
  };
}

type Opened = NatsBuckets & { name: string };

function streamOf(bucket: string): string {
  return `KV_${bucket}`;
}

function checked(key: string): string {
  checkKey(key);
  return key;
}

/** A value in parts that is replaced while it is read is read anew. */
async function read(bucket: Opened, key: string): Promise<BucketEntry | undefined> {
  let last: { revision: number; since: number } | undefined;
  for (;;) {
    const head = await findHead(bucket, key);
    if (head?.value === undefined) return undefined;
    const { revision } = head;
    const value = await readWhole(bucket, key, head);
    if (value !== undefined) return { key, value, revision };
    if (last?.revision !== revision) last = { revision, since: Date.now() };
    else if (Date.now() - last.since > RUNS_OUT_MS) throw halfValue(bucket.name, key);
    else await sleep(AGAIN_MS);
  }
}

async function findHead({ manager, name }: Opened, key: string): Promise<Head | undefined> {
  const stored = await find(manager, name, { last_by_subj: keySubject(name, key) });
  if (stored === null) return undefined;
  return readHead({ data: new Uint8Array(stored.data), revision: stored.seq, header: (header) => stored.header?.get(header) });
}

function find(manager: JetStreamManager, bucket: string, query: MsgRequest): Promise<StoredMsg | null> {
  return manager.streams.getMessage(streamOf(bucket), query);
}

/** Undefined where one of its parts is there no more. Each is asked for by its number, so that no other value's can be taken for it. */
async function readWhole({ manager, name }: Opened, key: string, { value, revision, parts }: Head): Promise<Uint8Array | undefined> {
  if (parts === undefined) return value;
  const first = revision - parts.count;
  const stored = await Promise.all(Array.from({ length: parts.count }, (_, at) => find(manager, name, { seq: first + at })));
  const pieces = stored.flatMap((one) => (one !== null && partOf((header) => one.header?.get(header)) === parts.id ? [one.data] : []));
  return pieces.length === parts.count ? new Uint8Array(Buffer.concat(pieces)) : undefined;
}

/** Guarded by what is there as well, so that whoever replaces a value knows which parts go with it. */
async function write(bucket: Opened, key: string, given: Uint8Array | undefined): Promise<number> {
  const value = given === undefined ? undefined : new Uint8Array(given);
  for (;;) {
    const written = await commit(bucket, changeOf(keySubject(bucket.name, key), value, await findHead(bucket, key)));
    if (written !== undefined) return written;
  }
}

async function writeOver(
  bucket: Opened,
  key: string,
  { value, revision }: { value: Uint8Array; revision: number },
): Promise<number | undefined> {
  for (;;) {
    const head = await findHead(bucket, key);
    if ((head?.value === undefined ? 0 : head.revision) !== revision) return undefined;
    const written = await commit(bucket, changeOf(keySubject(bucket.name, key), value, head));
    if (written !== undefined) return written;
  }
}

interface Ack {
  seq: number;
  count?: number;
  error?: { err_code: number; description: string };
}

/** The revision of the head; undefined where somebody else was first. */
async function commit(bucket: Opened, { messages, behind }: Change): Promise<number | undefined> {
  const [answer] = await ask(bucket, messages, () => true);
  if (answer === undefined || answer.status === 503) throw busUnreachable();
  const { seq, count = 1, error } = decodeJson(answer.data) as Ack;
  if (error !== undefined && isWrongRevision(error.err_code)) return undefined;
  if (error !== undefined || count !== messages.length) throw busUnreachable(new Error(error?.description ?? 'it stores nothing as one'));
  return seq - behind;
}

function isWrongRevision(code: number): boolean {
  return code === JetStreamApiCodes.StreamWrongLastSequence || code === JetStreamApiCodes.StreamWrongLastSequenceUnknown;
}

/** Read by a watch, which asks for no more rights than a service has anyway. */
async function listKeys(bucket: Opened): Promise<string[]> {
  const keys = new Set<string>();
  const tell = ({ key, value }: BucketEntry): void => void (value === undefined ? keys.delete(key) : keys.add(key));
  const watch = await openWatch(bucket, bucket.name, tell);
  watch.stop();
  return [...keys];
}
