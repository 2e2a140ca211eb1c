import { randomBase62 } from '@switchyard/security';
import { EMPTY } from '../bytes.ts';
import { headerLines, joinLines, withLine, type HeaderLines } from '../headers.ts';
import type { Outgoing } from '../transport.ts';

/**
 * What fits a message of a bucket. A read is answered in JSON, where bytes are a third longer: with a subject and headers of some
 * thousand bytes the answer is still no message above 64 KiB.
 */
export const PART_BYTES = 45_000;

const HEAD = 'Sy-Parts';
const PART = 'Sy-Part-Of';
const OPERATION = 'KV-Operation';
const MARKER = 'Nats-Marker-Reason';
const EXPECTED = 'Nats-Expected-Last-Subject-Sequence';
const ID_DIGITS = 22;
/** A token that no key has. What stands behind it belongs to the key before it, and so does the right to write it. */
const ASIDE = '/';
/** A value is written where the one before is not, so that this one is whole until the new one is. */
const ROOMS = ['a', 'b'] as const;

/** What the head of a value in parts says of them: they stand right before it in the stream. */
interface Parts {
  /** Of this value alone; each part says it too. */
  id: string;
  room: string;
  count: number;
}

/** The message under a key. */
export interface Head {
  revision: number;
  /** Undefined where the key is gone. */
  value: Uint8Array | undefined;
  /** Where the value is instead. */
  parts: Parts | undefined;
}

interface Stored {
  data: Uint8Array;
  revision: number;
  header: (name: string) => string | undefined;
}

export function readHead({ data, revision, header }: Stored): Head {
  if (header(OPERATION) || header(MARKER)) return { revision, value: undefined, parts: undefined };
  const [id, room, count] = header(HEAD)?.split(' ') ?? [];
  if (id === undefined || room === undefined || count === undefined) return { revision, value: data, parts: undefined };
  return { revision, value: EMPTY, parts: { id, room, count: Number(count) } };
}

export function keySubject(bucket: string, key: string): string {
  return `$KV.${bucket}.${key}`;
}

/** Whether what is below `$KV.<bucket>.` is no key but a part of the value of one. */
export function isPart(key: string): boolean {
  return key.includes(`.${ASIDE}.`);
}

/** Which value it is a part of. One that was removed is of none. */
export function partOf(header: Stored['header']): string | undefined {
  return header(PART) || undefined;
}

/** The messages that put a value under a key in place of what is there now, all of them or none. */
export interface Change {
  messages: Outgoing[];
  /** How many of them come after the head. */
  behind: number;
}

type Said = Outgoing & { headers: HeaderLines };

/** Undefined removes the key. */
export function changeOf(subject: string, value: Uint8Array | undefined, before: Head | undefined): Change {
  const parts = value === undefined || value.length <= PART_BYTES ? undefined : newParts(value, before);
  const guard = headerLines([EXPECTED, String(before?.revision ?? 0)]);
  const [data, says] =
    value === undefined ? [EMPTY, REMOVED] : parts === undefined ? [value, undefined] : [EMPTY, headerLines([HEAD, wordsOf(parts)])];
  const ahead = parts === undefined ? [] : cut(subject, value ?? EMPTY, parts);
  const behind = removals(subject, before?.parts);
  return { messages: together([...ahead, { subject, data, headers: withLine(says, guard) }, ...behind]), behind: behind.length };
}

const REMOVED = headerLines([OPERATION, 'DEL']);

function newParts({ length }: Uint8Array, before: Head | undefined): Parts {
  const [first, second] = ROOMS;
  return { id: randomBase62(ID_DIGITS), room: before?.parts?.room === first ? second : first, count: Math.ceil(length / PART_BYTES) };
}

function wordsOf({ id, room, count }: Parts): string {
  return `${id} ${room} ${count}`;
}

function partSubject(subject: string, { room }: Parts, at: number): string {
  return `${subject}.${ASIDE}.${room}.${at}`;
}

function cut(subject: string, value: Uint8Array, parts: Parts): Said[] {
  const headers = headerLines([PART, parts.id]);
  return Array.from({ length: parts.count }, (_, at) => {
    const data = value.subarray(at * PART_BYTES, (at + 1) * PART_BYTES);
    return { subject: partSubject(subject, parts, at), data, headers };
  });
}

function removals(subject: string, parts: Parts | undefined): Said[] {
  if (parts === undefined) return [];
  return Array.from({ length: parts.count }, (_, at) => ({ subject: partSubject(subject, parts, at), data: EMPTY, headers: REMOVED }));
}

/** The server stores them one after the other with nothing in between, or none of them. */
function together(messages: Said[]): Outgoing[] {
  if (messages.length === 1) return messages;
  const id = randomBase62(ID_DIGITS);
  return messages.map(({ headers, ...message }, at) => {
    const place = headerLines(['Nats-Batch-Id', id], ['Nats-Batch-Sequence', String(at + 1)]);
    const last = at === messages.length - 1 ? headerLines(['Nats-Batch-Commit', '1']) : undefined;
    return { ...message, headers: joinLines(headers, withLine(last, place)) };
  });
}
