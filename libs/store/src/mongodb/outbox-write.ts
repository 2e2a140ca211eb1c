import type { Filter as MongoFilter, UpdateFilter } from 'mongodb';
import type { Kept, OwedEntry } from './stored-document.ts';

/** What a write keeps beside the document, so that its events are kept by it. */
export interface Owing {
  entries: OwedEntry[];
  last: string;
  /** A claim from now on, for the write that is sent next: one may have waited for others of its document. */
  claim(): string;
  /** Until when that is. */
  until: number;
}

/** One attempt to write; gives the document as it was, or null where the query found none. */
export type Write = (query: MongoFilter<Kept>, update: UpdateFilter<Kept>) => Promise<Kept | null>;

/**
 * Writes with what it owes. A document that nobody has a claim on is ours with that write; one that somebody holds stays theirs, and
 * they will publish. The two are asked for one after the other, so null can also mean that a claim came or went in between.
 */
export async function writeOwing(
  query: MongoFilter<Kept>,
  update: UpdateFilter<Kept>,
  owing: Owing | undefined,
  write: Write,
): Promise<Kept | null> {
  if (owing === undefined) return write(query, update);
  const set = { ...update.$set, last: owing.last };
  const pushed: UpdateFilter<Kept> = { ...update, $push: { ...update.$push, owed: { $each: owing.entries } }, $set: set };
  const free = { ...query, claim: { $exists: false } };
  const before = await write(free, { ...pushed, $set: { ...set, claim: owing.claim() } });
  return before ?? write({ ...query, claim: { $exists: true } }, pushed);
}
