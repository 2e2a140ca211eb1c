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

interface Deletion {
  id: string;
  now: number;
  /** Time of the last known write. The clock of another replica may be ahead, and indexes ignore a change that is older than the entry. */
  changedAt?: number;
}

/** Turns a memory into a tombstone. Null if it is already deleted. */
export function deleteEntry(documents: Documents<EntryDocument>, { id, now, changedAt = 0 }: Deletion): Promise<EntryDocument | null> {
  return documents.update(
    { id, deletedAt: null },
    {
      set: {
        content: '',
        who: '',
        userId: '',
        tags: [],
        deletedAt: now,
        changedAt: Math.max(now, changedAt + 1),
        purgeAt: now + TOMBSTONE_TTL_MS,
      },
      unset: [...CONTENT_FIELDS],
    },
  );
}
