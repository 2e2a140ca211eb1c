import { randomUUID } from 'node:crypto';
import { findHeader } from '../headers.ts';
import type { LogEntry, LogPosition, Outgoing } from '../transport.ts';
import { isWildcard, subjectMatcher } from './subject-index.ts';

/** How much a log holds. */
export const MAX_BYTES = 32 * 1024 * 1024;
/** For how long an id is known; JetStream's default. */
const DEDUPE_MS = 120_000;

/** A message in the ring; without one where its subject had too many. */
interface Place {
  readonly subject: string;
  readonly at: number;
  entry: LogEntry | undefined;
}

/** The messages of one subject: those from `first` on. */
interface Lane {
  places: Place[];
  first: number;
}

/** A ring of messages, bounded by age, by size, and for each subject by number. */
export interface MemoryLog {
  holds(subject: string): boolean;
  keep(message: Outgoing, id?: string): { seq: number; duplicate: boolean };
  /** Of a subject without wildcards only its own messages are looked at, however many others there are. */
  read(subject: string, fromSeq?: number): LogEntry[];
  position(): LogPosition;
}

interface Definition {
  subjects: readonly string[];
  maxAgeMs: number;
  maxPerSubject?: number;
}

export function createMemoryLog({ subjects, maxAgeMs, maxPerSubject = Infinity }: Definition): MemoryLog {
  const matchers = subjects.map(subjectMatcher);
  const ids = new Map<string, { seq: number; at: number }>();
  const lanes = new Map<string, Lane>();
  const ring: Lane = { places: [], first: 0 };
  let bytes = 0;
  let lastSeq = 0;

  /** The oldest of a subject is what goes first, whether the whole log is full or the subject has too many. */
  function forget(place: Place, lane: Lane): void {
    bytes -= place.entry?.data.length ?? 0;
    place.entry = undefined;
    advance(lane);
    if (lane.first === lane.places.length) lanes.delete(place.subject);
  }

  function prune(now: number): void {
    let oldest = ring.places[ring.first];
    while (oldest !== undefined && (oldest.entry === undefined || oldest.at <= now - maxAgeMs || bytes > MAX_BYTES)) {
      const lane = lanes.get(oldest.subject);
      if (oldest.entry !== undefined && lane !== undefined) forget(oldest, lane);
      advance(ring);
      oldest = ring.places[ring.first];
    }
    for (const [id, { at }] of ids) {
      if (at > now - DEDUPE_MS) break;
      ids.delete(id);
    }
  }

  function add(place: Place): void {
    ring.places.push(place);
    const lane = lanes.get(place.subject) ?? { places: [], first: 0 };
    lanes.set(place.subject, lane);
    lane.places.push(place);
    if (lane.places.length - lane.first > maxPerSubject) forget(lane.places[lane.first] as Place, lane);
  }

  // It is as old as its process: who comes back after a restart comes to another log.
  const name = randomUUID().replaceAll('-', '');

  return {
    position: () => ({ name, seq: lastSeq }),
    holds: (subject) => matchers.some((matches) => matches(subject)),
    keep({ subject, data, headers }, id) {
      const now = Date.now();
      prune(now);
      const known = id === undefined ? undefined : ids.get(id);
      if (known !== undefined) return { seq: known.seq, duplicate: true };
      const seq = ++lastSeq;
      bytes += data.length;
      add({ subject, at: now, entry: { seq, subject, data, at: now, header: (name) => findHeader(headers, name) } });
      if (id !== undefined) ids.set(id, { seq, at: now });
      return { seq, duplicate: false };
    },
    read(subject, fromSeq = 0) {
      prune(Date.now());
      if (!isWildcard(subject)) return entriesOf(lanes.get(subject)).filter(({ seq }) => seq >= fromSeq);
      const matches = subjectMatcher(subject);
      return entriesOf(ring).filter((entry) => entry.seq >= fromSeq && matches(entry.subject));
    },
  };
}

function entriesOf({ places, first }: Lane = { places: [], first: 0 }): LogEntry[] {
  return places.slice(first).flatMap(({ entry }) => entry ?? []);
}

/** Cut in large pieces: shifting an array message by message is quadratic. */
function advance(lane: Lane): void {
  lane.first++;
  if (lane.first <= 1_024 || lane.first * 2 <= lane.places.length) return;
  lane.places = lane.places.slice(lane.first);
  lane.first = 0;
}
