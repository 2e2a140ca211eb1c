import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Collection } from '@switchyard/store';
import { principal } from '@switchyard/testkit';
import type { TurnDocument } from '../../model/turn-document.ts';
import { reloadTurn } from './idempotency-key.ts';

const accepted = { turnId: 'turn_a', state: 'queued' } as TurnDocument;
const ended = { turnId: 'turn_a', state: 'done' } as TurnDocument;

/** Reloads a turn from a database that returns this document. */
async function asFound(get: () => Promise<TurnDocument | null>, idempotencyKey: string | undefined = 'k'): Promise<TurnDocument> {
  const turns = { for: () => ({ get }) } as unknown as Collection<TurnDocument>;
  return reloadTurn({ turns, store: { now: () => 0 } }, { principal: principal(), idempotencyKey }, accepted);
}

test('reloads a turn with a key; returns the given turn if the read fails or finds nothing', async () => {
  assert.equal(await asFound(async () => ended), ended);
  assert.equal(await asFound(async () => null), accepted);
  assert.equal(await asFound(() => Promise.reject(new Error('no database'))), accepted);
});

test('does not read a turn without a key', async () => {
  const turns = { for: () => assert.fail('it was read') } as unknown as Collection<TurnDocument>;
  assert.equal(
    await reloadTurn({ turns, store: { now: () => 0 } }, { principal: principal(), idempotencyKey: undefined }, accepted),
    accepted,
  );
});
