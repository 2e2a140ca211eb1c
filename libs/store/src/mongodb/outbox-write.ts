import type { Filter as MongoFilter, UpdateFilter } from 'mongodb';
import type { StoredDocument, OutboxEntry } from './stored-document.ts';

/** The events that a write stores with its document. */
export interface OutboxWrite {
  entries: OutboxEntry[];
  lastEventId: string;
  /** Returns a lease that starts now. Call it directly before each attempt, which may have waited for other operations. */
  startLease(): string;
  /** Expiry time of the lease. */
  until: number;
}

/** Executes one update and returns the document before it, or null if the query did not match. */
export type WriteAttempt = (query: MongoFilter<StoredDocument>, update: UpdateFilter<StoredDocument>) => Promise<StoredDocument | null>;

/**
 * Writes a document with its events. If the document has no lease, the write takes it; otherwise the lease holder publishes the events.
 * The two cases are tried one after the other, so null may also mean that a lease appeared or disappeared in between.
 */
export async function writeWithOutbox(
  query: MongoFilter<StoredDocument>,
  update: UpdateFilter<StoredDocument>,
  outboxWrite: OutboxWrite | undefined,
  write: WriteAttempt,
): Promise<StoredDocument | null> {
  if (outboxWrite === undefined) return write(query, update);
  const set = { ...update.$set, lastEventId: outboxWrite.lastEventId };
  const pushed: UpdateFilter<StoredDocument> = { ...update, $push: { ...update.$push, outbox: { $each: outboxWrite.entries } }, $set: set };
  const free = { ...query, lease: { $exists: false } };
  const before = await write(free, { ...pushed, $set: { ...set, lease: outboxWrite.startLease() } });
  return before ?? write({ ...query, lease: { $exists: true } }, pushed);
}
