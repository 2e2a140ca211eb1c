import type { Documents } from '@switchyard/store';
import { GONE_MS, type EntryDocument } from '../documents/collections.ts';

const WHAT_IT_SAID = [
  'metadata',
  'channel',
  'sessionKey',
  'expiresAt',
  'vector',
  'vectorOf',
  'takenBy',
  'takenUntil',
  'derivedAt',
  'sourceIds',
  'sourceSessions',
  'mergedInto',
] as const;

/** Turns a memory into a tombstone. Null if it is already deleted. */
export function forget(mine: Documents<EntryDocument>, { id, now }: { id: string; now: number }): Promise<EntryDocument | null> {
  return mine.update(
    { id, goneAt: null },
    {
      set: { content: '', who: '', userId: '', tags: [], goneAt: now, changedAt: now, forgetAt: now + GONE_MS },
      unset: [...WHAT_IT_SAID],
    },
  );
}
