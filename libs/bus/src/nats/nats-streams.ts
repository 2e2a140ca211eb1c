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
import { streamsOf, type LogDefinition } from '@switchyard/contracts';
import { notProvisionedError, tooFewServersError } from '../wire/errors.ts';
import { isForbidden } from './nats-errors.ts';

const DEDUPE_MS = 120_000;
const MEBIBYTE = 1024 * 1024;
/** How much one stream holds. */
export const MAX_BYTES = { memory: 64 * MEBIBYTE, file: 512 * MEBIBYTE };

type StreamSpec = Partial<StreamConfig> & { name: string };

/** A stream, and what it keeps. */
interface StreamParts {
  name: string;
  subjects: readonly string[];
}

/** Creates the streams of a log, or brings those there to its definition, where we may. */
export async function ensureStreams(manager: JetStreamManager, definition: LogDefinition): Promise<void> {
  const { name, subjects, parts, streams } = definition;
  if (parts === undefined) return ensurePartStream(manager, definition, { name, subjects });
  if (streams !== undefined) return share(manager, definition, streams);
  // How many there are is not ours to say: the first is always there, and keeps what it keeps.
  const [first = name] = streamsOf(definition);
  const present = await findStream(manager, first);
  return ensurePartStream(manager, definition, { name: first, subjects: present?.subjects ?? parts });
}

function ensurePartStream(manager: JetStreamManager, definition: LogDefinition, distributeParts: StreamParts): Promise<void> {
  return ensureStream(manager, `stream ${distributeParts.name}`, buildStreamConfig(definition, distributeParts));
}

/** Creates it, or brings the one that is there to what is wanted, where we may. `what` is what it is called where it is missing. */
export async function ensureStream(manager: JetStreamManager, what: string, wanted: StreamSpec): Promise<void> {
  const present = await findStream(manager, wanted.name);
  const { first_seq: _, ...changeable } = wanted; // what it counts from is settled when it is created
  try {
    if (present === undefined) await manager.streams.add(wanted);
    else if (!isDeepStrictEqual(present, { ...present, ...changeable })) await manager.streams.update(wanted.name, changeable);
  } catch (error) {
    // Several create it at once, and each would count from another number: the first one does.
    const isThereNow = present === undefined && isNameTaken(error) && (await findStream(manager, wanted.name)) !== undefined;
    if (isThereNow) return ensureStream(manager, what, wanted);
    if (isTooFewServers(error)) throw tooFewServersError(what, wanted.num_replicas ?? 1, error);
    if (!isForbidden(error)) throw error;
    if (present === undefined) throw notProvisionedError(what, error);
  }
}

/** Nothing where nobody says it: a new stream has one copy then, and one that is there keeps those it has. */
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

/** A server by itself, and a cluster that has not so many. */
const TOO_FEW_SERVERS: readonly number[] = [10_074, 10_005];

function isTooFewServers(error: unknown): boolean {
  return error instanceof JetStreamApiError && TOO_FEW_SERVERS.includes(error.code);
}

/** There is one of this name, with another configuration. The client has no word for it. */
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
 * Spreads the parts of a log over `count` streams, whatever keeps them now; done again it goes on where it was left. A part that
 * moves leaves what was kept of it where it is, until that is too old: readers ask all streams.
 */
async function share(manager: JetStreamManager, definition: LogDefinition, count: number): Promise<void> {
  const { parts = [] } = definition;
  const streams = streamsOf(definition);
  const keeps = new Map<string, readonly string[]>();
  const put = (name: string, of: readonly string[]): Promise<void> => {
    keeps.set(name, of);
    // A stream keeps something always: one that has no part left keeps its own name, which nobody says anything on.
    return ensurePartStream(manager, definition, { name, subjects: of.length === 0 ? [name] : of });
  };
  for (const name of streams) {
    const present = await findStream(manager, name);
    if (present) keeps.set(name, selectParts(parts, present.subjects));
  }
  const kept = [...keeps.values()].flat();
  const wanted = streams.slice(0, count).map((name, at) => ({ name, of: parts.filter((_, part) => part % count === at) }));
  // Those that are new come first: where there is no room for one, nothing has moved.
  for (const { name, of } of wanted) {
    if (!keeps.has(name)) await put(name, excludeParts(of, kept));
  }
  for (const { name, of } of wanted) {
    const mine = keeps.get(name) ?? [];
    const taken = excludeParts(of, mine);
    // Two streams cannot keep one subject, so one lets go before the other takes it. What is said between is kept by none.
    for (const [giver, has] of keeps) if (giver !== name && selectParts(taken, has).length > 0) await put(giver, excludeParts(has, taken));
    await put(name, [...mine, ...taken]);
  }
}

function selectParts(parts: readonly string[], subjects: readonly string[]): readonly string[] {
  return parts.filter((part) => subjects.includes(part));
}

function excludeParts(parts: readonly string[], gone: readonly string[]): readonly string[] {
  return parts.filter((part) => !gone.includes(part));
}
