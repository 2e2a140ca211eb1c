import { randomUUID } from 'node:crypto';
import { findHeader, type HeaderLines } from '../wire/headers.ts';
import type { LogEntry, LogPosition, Outgoing } from '../wire/transport.ts';
import { isWildcard, createSubjectMatcher } from './subject-index.ts';

/** Capacity of a log. V8 lets the heap grow to several times the size of live data, so the effective memory is larger. */
export const MAX_BYTES = 16 * 1024 * 1024;
/** Memory of an entry besides its subject, headers and data: list links and the message id. */
export const MESSAGE_BYTES = 408;

/** Distance between two messages of the index by sequence number. */
const LANDMARK_INTERVAL = 64;

/** A stored message. It is a node of two lists: all messages, and the messages of its subject. */
interface LogNode {
  readonly seq: number;
  readonly subject: string;
  readonly at: number;
  readonly id: string | undefined;
  readonly headers: HeaderLines | undefined;
  /** One character per byte. Small byte arrays take several times their size, and a slice of a pooled buffer keeps the whole pool alive. */
  readonly data: string;
  older: LogNode | undefined;
  newer: LogNode | undefined;
  next: LogNode | undefined;
}

/** The messages of one subject. */
interface SubjectQueue {
  oldest: LogNode;
  newest: LogNode;
  length: number;
}

/** A list of messages, bounded by age, by size, and by number for each subject. */
export interface MemoryLog {
  matches(subject: string): boolean;
  append(message: Outgoing, id?: string): { seq: number; duplicate: boolean };
  /** Reads at most `limit` messages. A subject without wildcards reads its own list only, regardless of the size of the log. */
  read(subject: string, fromSeq?: number, limit?: number): LogEntry[];
  position(): LogPosition;
}

interface Definition {
  subjects: readonly string[];
  maxAgeMs: number;
  maxPerSubject?: number;
}

export function createMemoryLog({ subjects, maxAgeMs, maxPerSubject = Infinity }: Definition): MemoryLog {
  const matchers = subjects.map(createSubjectMatcher);
  /** Message ids are known as long as their messages are stored, which is longer than in JetStream. */
  const ids = new Map<string, LogNode>();
  const queues = new Map<string, SubjectQueue>();
  /** Every 64th message by sequence number, so that a page does not walk the log from its beginning. */
  const landmarks = new Map<number, LogNode>();
  const ring: { oldest: LogNode | undefined; newest: LogNode | undefined } = { oldest: undefined, newest: undefined };
  let bytes = 0;
  let lastSeq = 0;

  /** Removes the oldest message of a subject. */
  function removeOldest(queue: SubjectQueue): void {
    const { oldest } = queue;
    if (oldest.next === undefined) queues.delete(oldest.subject);
    else Object.assign(queue, { oldest: oldest.next, length: queue.length - 1 });
    if (oldest.older === undefined) ring.oldest = oldest.newer;
    else oldest.older.newer = oldest.newer;
    if (oldest.newer === undefined) ring.newest = oldest.older;
    else oldest.newer.older = oldest.older;
    landmarks.delete(oldest.seq);
    if (oldest.id !== undefined) ids.delete(oldest.id);
    bytes -= measureNode(oldest);
  }

  function prune(now: number): void {
    while (ring.oldest !== undefined && (ring.oldest.at <= now - maxAgeMs || bytes > MAX_BYTES))
      removeOldest(queues.get(ring.oldest.subject) as SubjectQueue);
  }

  function add(node: LogNode): void {
    if (ring.newest === undefined) ring.oldest = node;
    else ring.newest.newer = node;
    ring.newest = node;
    if (node.seq % LANDMARK_INTERVAL === 0) landmarks.set(node.seq, node);
    if (node.id !== undefined) ids.set(node.id, node);
    bytes += measureNode(node);
    const queue = queues.get(node.subject);
    if (queue === undefined) return void queues.set(node.subject, { oldest: node, newest: node, length: 1 });
    queue.newest.next = node;
    queue.newest = node;
    queue.length += 1;
    if (queue.length > maxPerSubject) removeOldest(queue);
  }

  /** Returns the first message from a sequence number on. */
  function findFrom(fromSeq: number): LogNode | undefined {
    let seq = Math.min(fromSeq, lastSeq);
    seq -= seq % LANDMARK_INTERVAL;
    // A landmark is missing where a subject was full.
    while (ring.oldest && seq > ring.oldest.seq && !landmarks.has(seq)) seq -= LANDMARK_INTERVAL;
    let node = landmarks.get(seq) ?? ring.oldest;
    while (node && node.seq < fromSeq) node = node.newer;
    return node;
  }

  // A log lives as long as its process, so each start has a new name.
  const name = randomUUID().replaceAll('-', '');

  return {
    position() {
      prune(Date.now());
      return { name, firstSeq: ring.oldest?.seq ?? lastSeq + 1, seq: lastSeq };
    },
    matches: (subject) => matchers.some((matches) => matches(subject)),
    append({ subject, data, headers }, id) {
      const now = Date.now();
      prune(now);
      const known = id === undefined ? undefined : ids.get(id);
      if (known !== undefined) return { seq: known.seq, duplicate: true };
      const seq = ++lastSeq;
      const { newest: older } = ring;
      add({ seq, subject, at: now, id, headers, data: toLatin1(data), older, newer: undefined, next: undefined });
      return { seq, duplicate: false };
    },
    read(subject, fromSeq = 0, limit = Infinity) {
      prune(Date.now());
      const entries: LogEntry[] = [];
      if (isWildcard(subject)) {
        const matches = createSubjectMatcher(subject);
        for (let node = findFrom(fromSeq); node && entries.length < limit; node = node.newer)
          if (matches(node.subject)) entries.push(toEntry(node));
      } else {
        for (let node = queues.get(subject)?.oldest; node && entries.length < limit; node = node.next)
          if (node.seq >= fromSeq) entries.push(toEntry(node));
      }
      return entries;
    },
  };
}

function measureNode({ subject, headers, data }: LogNode): number {
  return subject.length + (headers?.length ?? 0) + data.length + MESSAGE_BYTES;
}

function toLatin1(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
}

function toEntry({ seq, at, subject, headers, data }: LogNode): LogEntry {
  return { seq, at, subject, data: Buffer.from(data, 'latin1'), header: (name) => findHeader(headers, name) };
}
