import type { Filter as MongoFilter, UpdateFilter } from 'mongodb';
import type { StoredDocument, OutboxEntry } from './stored-document.ts';

/** What a write keeps beside the document, so that its events are kept by it. */
export interface OutboxWrite {
  entries: OutboxEntry[];
  lastEventId: string;
  /** A claim from now on, for the write that is sent next: one may have waited for others of its document. */
  startLease(): string;
  /** Until when that is. */
  until: number;
}

/** One attempt to write; gives the document as it was, or null where the query found none. */
export type WriteAttempt = (query: MongoFilter<StoredDocument>, update: UpdateFilter<StoredDocument>) => Promise<StoredDocument | null>;

/**
 * Writes with what it owes. A document that nobody has a claim on is ours with that write; one that somebody holds stays theirs, and
 * they will publish. The two are asked for one after the other, so null can also mean that a claim came or went in between.
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
