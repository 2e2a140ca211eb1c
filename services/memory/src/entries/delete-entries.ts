import type { Documents } from '@switchyard/store';
import { TOMBSTONE_TTL_MS, type EntryDocument } from '../documents/collections.ts';

const CONTENT_FIELDS = [
  'metadata',
  'channel',
  'sessionKey',
  'expiresAt',
  'vector',
  'vectorModel',
  'leasedBy',
  'leasedUntil',
  'derivedAt',
  'sourceIds',
  'sourceSessions',
  'mergedInto',
] as const;

/** Turns a memory into a tombstone. Null if it is already deleted. */
export function deleteEntry(documents: Documents<EntryDocument>, { id, now }: { id: string; now: number }): Promise<EntryDocument | null> {
  return documents.update(
    { id, deletedAt: null },
    {
      set: { content: '', who: '', userId: '', tags: [], deletedAt: now, changedAt: now, purgeAt: now + TOMBSTONE_TTL_MS },
      unset: [...CONTENT_FIELDS],
    },
  );
}
