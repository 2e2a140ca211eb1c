import { findHeader } from '../headers.ts';
import type { LogEntry, Outgoing } from '../transport.ts';
import { subjectMatcher } from './subject-index.ts';

const MAX_BYTES = 32 * 1024 * 1024;
/** For how long an id is known; JetStream's default. */
const DEDUPE_MS = 120_000;

interface Kept extends LogEntry {
  at: number;
}

/** A ring of messages, bounded by age and by size. */
export interface MemoryLog {
  holds(subject: string): boolean;
  keep(message: Outgoing, id?: string): { seq: number; duplicate: boolean };
  read(subject: string, fromSeq?: number): LogEntry[];
}

export function createMemoryLog({ subjects, maxAgeMs }: { subjects: readonly string[]; maxAgeMs: number }): MemoryLog {
  const matchers = subjects.map(subjectMatcher);
  const ids = new Map<string, { seq: number; at: number }>();
  let entries: Kept[] = [];
  let first = 0;
  let bytes = 0;
  let lastSeq = 0;

  function prune(now: number): void {
    let oldest = entries[first];
    while (oldest !== undefined && (oldest.at <= now - maxAgeMs || bytes > MAX_BYTES)) {
      bytes -= oldest.data.length;
      oldest = entries[++first];
    }
    // Cut in large pieces: shifting an array message by message is quadratic.
    if (first > 1_024 && first * 2 > entries.length) {
      entries = entries.slice(first);
      first = 0;
    }
    for (const [id, { at }] of ids) {
      if (at > now - DEDUPE_MS) break;
      ids.delete(id);
    }
  }

  return {
    holds: (subject) => matchers.some((matches) => matches(subject)),
    keep({ subject, data, headers }, id) {
      const now = Date.now();
      prune(now);
      const known = id === undefined ? undefined : ids.get(id);
      if (known !== undefined) return { seq: known.seq, duplicate: true };
      const seq = ++lastSeq;
      entries.push({ seq, subject, data, at: now, header: (name) => findHeader(headers, name) });
      bytes += data.length;
      if (id !== undefined) ids.set(id, { seq, at: now });
      return { seq, duplicate: false };
    },
    read(subject, fromSeq = 0) {
      prune(Date.now());
      const matches = subjectMatcher(subject);
      return entries.slice(first).filter((entry) => entry.seq >= fromSeq && matches(entry.subject));
    },
  };
}
