import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Documents } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import { deleteEntry } from './delete-entries.ts';

test('a deletion is newer than the last write, also of a replica whose clock is ahead', async () => {
  const changes: unknown[] = [];
  const documents = {
    update: async (_filter: unknown, change: { set: Partial<EntryDocument> }) => void changes.push(change.set.changedAt),
  } as unknown as Documents<EntryDocument>;
  await deleteEntry(documents, { id: 'a', now: 100, changedAt: 40 });
  await deleteEntry(documents, { id: 'a', now: 100, changedAt: 100 });
  await deleteEntry(documents, { id: 'a', now: 100, changedAt: 130 });
  await deleteEntry(documents, { id: 'a', now: 100 });
  assert.deepEqual(changes, [100, 101, 131, 100]);
});
