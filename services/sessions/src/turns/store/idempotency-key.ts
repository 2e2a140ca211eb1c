import type { Principal } from '@switchyard/contracts';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';

export interface KeyedDeps {
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
}

interface Keyed {
  principal: Principal;
  idempotencyKey: string | undefined;
}

/** The turn that the key named. A key is kept for a day; one that is older than that is free again. */
export async function earlierTurn({ turns, store }: KeyedDeps, { principal, idempotencyKey }: Keyed): Promise<TurnDocument | undefined> {
  if (idempotencyKey === undefined) return undefined;
  const mine = turns.for(principal);
  const turn = (await mine.find({ idempotencyKey }, { limit: 1 })).items[0];
  if (turn?.keyUntil === undefined || turn.keyUntil > store.now()) return turn;
  await forgetKey(mine, turn);
  return undefined;
}

export async function forgetKey(turns: Documents<TurnDocument>, { turnId, keyUntil }: TurnDocument): Promise<void> {
  if (keyUntil !== undefined) await turns.update({ turnId, keyUntil }, { unset: ['idempotencyKey', 'keyUntil'] });
}

/**
 * A turn that has a key may have been found by it while it was in no queue, put into it, and run by another replica: then it has ended by
 * the time that it enters here, and its model is not asked again. Nobody runs it beside this one, who holds the lease. Never fails: what
 * cannot be read is run, and whoever commits first counts.
 */
export async function asItIs({ turns }: KeyedDeps, { principal, idempotencyKey }: Keyed, turn: TurnDocument): Promise<TurnDocument> {
  if (idempotencyKey === undefined) return turn;
  const there = await turns
    .for(principal)
    .get(turn.turnId)
    .catch(() => null);
  return there ?? turn;
}
