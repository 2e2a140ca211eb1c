import { createHash } from 'node:crypto';
import type { Principal } from '@switchyard/contracts';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { TurnDocument, TurnOrder } from '../../model/turn-document.ts';

export interface IdempotencyDeps {
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
}

interface KeyedRequest {
  principal: Principal;
  idempotencyKey: string | undefined;
}

/** The fields of a request that must be equal when its key is used again. */
interface ComparedRequest {
  message: string;
  agentId?: string | undefined;
  scopes?: readonly string[] | undefined;
  model?: string | undefined;
  timeoutMs?: number | undefined;
  order?: TurnOrder;
  context?: unknown;
  tools?: unknown;
}

/** Returns a digest of the request. Fields that a request does not have leave its digest as it was before they existed. */
export function fingerprintRequest(request: ComparedRequest, sessionKey: string): string {
  const { message, agentId, scopes, model, timeoutMs, order, context, tools } = request;
  const bounds = model === undefined && timeoutMs === undefined ? [] : [model ?? null, timeoutMs ?? null];
  const ordered = [order, context, tools].filter((part) => part !== undefined);
  const content = [message, agentId ?? null, scopes ?? null, sessionKey, ...bounds, ...ordered];
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url');
}

/** Returns the stored form of a key. Clients and methods do not share keys, because none of the three parts contains a space. */
export function scopeKey({ principal, method, key }: { principal: Principal; method: string; key: string }): string {
  return `${principal.client} ${method} ${key}`;
}

/** Returns the turn of an idempotency key. A key is kept for a day and is released afterwards. */
export async function findTurnByKey(
  { turns, store }: IdempotencyDeps,
  { principal, idempotencyKey }: KeyedRequest,
): Promise<TurnDocument | undefined> {
  if (idempotencyKey === undefined) return undefined;
  const mine = turns.for(principal);
  const turn = (await mine.find({ idempotencyKey }, { limit: 1 })).items[0];
  if (turn?.keyUntil === undefined || turn.keyUntil > store.now()) return turn;
  await releaseKey(mine, turn);
  return undefined;
}

export async function releaseKey(turns: Documents<TurnDocument>, { turnId, keyUntil }: TurnDocument): Promise<void> {
  if (keyUntil !== undefined) await turns.update({ turnId, keyUntil }, { unset: ['idempotencyKey', 'keyUntil'] });
}

/**
 * Reads the current state of a turn with a key. A retry may have enqueued the turn and another replica may have finished it, so the model
 * must not be called again. The caller holds the lease, so no other replica runs it now. Never throws: a turn that cannot be read is run,
 * and the first commit wins.
 */
export async function reloadTurn(
  { turns }: IdempotencyDeps,
  { principal, idempotencyKey }: KeyedRequest,
  turn: TurnDocument,
): Promise<TurnDocument> {
  if (idempotencyKey === undefined) return turn;
  const existing = await turns
    .for(principal)
    .get(turn.turnId)
    .catch(() => null);
  return existing ?? turn;
}
