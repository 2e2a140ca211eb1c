import type { Collection } from '@switchyard/store';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { countResponseBytes } from './stored-bytes.ts';
import type { StorageQuota } from './storage-quota.ts';

interface KeyedTurnRemovalDeps {
  kept: Collection<KeyedTurnDocument>;
  bodies: Collection<BodyDocument>;
  storage?: Pick<StorageQuota, 'add'>;
}

/** Removes a turn with an idempotency key and its texts, unless it changed since it was read. Returns whether it was removed. */
export async function removeKeyedTurn(
  { kept, bodies, storage }: KeyedTurnRemovalDeps,
  tenant: string,
  turn: KeyedTurnDocument,
): Promise<boolean> {
  const { key, turnId, fence, client } = turn;
  if ((await kept.for({ tenant }).remove({ key, turnId, fence })) === 0) return false;
  await bodies.for({ tenant }).remove({ turnId });
  storage?.add({ tenant, client }, -countResponseBytes(turn));
  return true;
}
