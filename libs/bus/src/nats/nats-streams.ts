import { isDeepStrictEqual } from 'node:util';
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { listStreams, type LogDefinition } from '@switchyard/contracts';
import { notProvisionedError, tooFewServersError } from '../wire/errors.ts';
import { isForbidden } from './nats-errors.ts';

const DEDUPE_MS = 120_000;
const MEBIBYTE = 1024 * 1024;
/** Capacity of one stream. */
export const MAX_BYTES = { memory: 64 * MEBIBYTE, file: 512 * MEBIBYTE };

type StreamSpec = Partial<StreamConfig> & { name: string };

/** A stream and its subjects. */
interface StreamParts {
  name: string;
  subjects: readonly string[];
}

/** Creates the streams of a log or updates their configuration, as far as permitted. */
export async function ensureStreams(manager: JetStreamManager, definition: LogDefinition): Promise<void> {
  const { name, subjects, parts, streams } = definition;
  if (parts === undefined) return ensurePartStream(manager, definition, { name, subjects });
  if (streams !== undefined) return distributeParts(manager, definition, streams);
  // A service does not decide on the number of streams. The first one always exists and keeps its subjects.
  const [first = name] = listStreams(definition);
  const present = await findStream(manager, first);
  return ensurePartStream(manager, definition, { name: first, subjects: present?.subjects ?? parts });
}

function ensurePartStream(manager: JetStreamManager, definition: LogDefinition, streamParts: StreamParts): Promise<void> {
  return ensureStream(manager, `stream ${streamParts.name}`, buildStreamConfig(definition, streamParts));
}

/** Creates a stream or updates its configuration, as far as permitted. `what` names it in errors. */
export async function ensureStream(manager: JetStreamManager, description: string, requested: StreamSpec): Promise<void> {
  const present = await findStream(manager, requested.name);
  const { first_seq: _, ...changeable } = requested; // the first sequence number can only be set at creation
  try {
    if (present === undefined) await manager.streams.add(requested);
    else if (!isDeepStrictEqual(present, { ...present, ...changeable })) await manager.streams.update(requested.name, changeable);
  } catch (error) {
    // Several replicas may create the stream at once with different sequence numbers. The first one wins.
    const isThereNow = present === undefined && isNameTaken(error) && (await findStream(manager, requested.name)) !== undefined;
    if (isThereNow) return ensureStream(manager, description, requested);
    if (isTooFewServers(error)) throw tooFewServersError(description, requested.num_replicas ?? 1, error);
    if (!isForbidden(error)) throw error;
    if (present === undefined) throw notProvisionedError(description, error);
  }
}

/** Without a number of copies, a new stream has one and an existing one keeps its own. */
export function formatReplicaConfig(copies: number | undefined): Partial<StreamConfig> {
  return copies === undefined ? {} : { num_replicas: copies };
}

function buildStreamConfig({ maxAgeMs, maxPerSubject, storage, copies }: LogDefinition, { name, subjects }: StreamParts) {
  return {
    name,
    subjects: [...subjects],
    storage: storage === 'memory' ? StorageType.Memory : StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(maxAgeMs),
    max_bytes: MAX_BYTES[storage],
    max_msgs_per_subject: maxPerSubject ?? -1,
    duplicate_window: nanos(Math.min(DEDUPE_MS, maxAgeMs)),
    allow_direct: true,
    ...formatReplicaConfig(copies),
  };
}

/** Error codes of a single server and of a cluster that is too small. */
const TOO_FEW_SERVERS: readonly number[] = [10_074, 10_005];

function isTooFewServers(error: unknown): boolean {
  return error instanceof JetStreamApiError && TOO_FEW_SERVERS.includes(error.code);
}

/** Error code for an existing stream with another configuration. The client has no constant for it. */
const NAME_TAKEN = 10_058;

function isNameTaken(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === NAME_TAKEN;
}

async function findStream(manager: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined;
    throw error;
  }
}

/**
 * Distributes the parts of a log over `count` streams. Can be repeated after an interruption. The older messages of a moved part stay in
 * their stream until they expire, because readers read all streams.
 */
async function distributeParts(manager: JetStreamManager, definition: LogDefinition, count: number): Promise<void> {
  const { parts = [] } = definition;
  const streams = listStreams(definition);
  const partsByStream = new Map<string, readonly string[]>();
  const writeParts = (name: string, assigned: readonly string[]): Promise<void> => {
    partsByStream.set(name, assigned);
    // A stream needs a subject. A stream without parts gets its own name, which is never published to.
    return ensurePartStream(manager, definition, { name, subjects: assigned.length === 0 ? [name] : assigned });
  };
  for (const name of streams) {
    const present = await findStream(manager, name);
    if (present) partsByStream.set(name, selectParts(parts, present.subjects));
  }
  const alreadyStored = [...partsByStream.values()].flat();
  const requestedItems = streams.slice(0, count).map((name, at) => ({ name, assigned: parts.filter((_, part) => part % count === at) }));
  // New streams are created first, so that nothing has moved if there is no space.
  for (const { name, assigned } of requestedItems) {
    if (!partsByStream.has(name)) await writeParts(name, excludeParts(assigned, alreadyStored));
  }
  for (const { name, assigned } of requestedItems) {
    const current = partsByStream.get(name) ?? [];
    const added = excludeParts(assigned, current);
    // Two streams cannot have the same subject, so one releases it before the other takes it. Messages published in between are not stored.
    for (const [other, stored] of partsByStream)
      if (other !== name && selectParts(added, stored).length > 0) await writeParts(other, excludeParts(stored, added));
    await writeParts(name, [...current, ...added]);
  }
}

function selectParts(parts: readonly string[], subjects: readonly string[]): readonly string[] {
  return parts.filter((part) => subjects.includes(part));
}

function excludeParts(parts: readonly string[], excluded: readonly string[]): readonly string[] {
  return parts.filter((part) => !excluded.includes(part));
}
