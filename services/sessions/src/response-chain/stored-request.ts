import { AllowedAgents, KeptResponse, KeyedTurn, MAX, SpendLimits, TurnMessage, type Principal } from '@switchyard/contracts';
import { z } from 'zod';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import { storeExpiringText, loadText, type Bodies } from '../model/stored-text.ts';
import type { StoredText } from '../model/text-document.ts';

const StatelessRequest = KeyedTurn.omit({ turnId: true, idempotencyKey: true, fingerprint: true, head: true, whole: true, response: true });
export type StatelessRequest = z.infer<typeof StatelessRequest>;

/** Stored request of a response: enough to run it again and to continue from it. */
export const StoredRequest = z.object({
  /** Without its conversation if the response continues another one. */
  turn: StatelessRequest.partial({ message: true }),
  /** Messages that the response adds to the conversation of the response that it continues. */
  added: z.array(TurnMessage).max(MAX.messages).optional(),
  response: KeptResponse,
  scopes: z.array(z.string()),
  /** Request id, for logs of the run. */
  requestId: z.string(),
  sessions: z.literal('own').optional(),
  budgets: SpendLimits.optional(),
  agents: AllowedAgents.optional(),
});
export type StoredRequest = z.infer<typeof StoredRequest>;

interface StoreRequestOptions {
  principal: Principal;
  requestId: string;
  forgetAt: number;
}

/** Stores the request before the document that refers to it. Returns undefined for turns that are no responses. */
export function storeRequest(
  bodies: Bodies,
  request: KeyedTurn,
  { principal, requestId, forgetAt }: StoreRequestOptions,
): Promise<StoredText> | undefined {
  const { turnId, idempotencyKey: _key, fingerprint: _print, head: _head, whole: _whole, response, ...turn } = request;
  if (response === undefined) return undefined;
  const { scopes, sessions, budgets, agents } = principal;
  const held = { ...(sessions && { sessions }), ...(budgets && { budgets }), ...(agents && { agents: [...agents] }) };
  const kept: StoredRequest = { ...selectAdded(turn, response), response, requestId, scopes: [...scopes], ...held };
  return storeExpiringText(bodies, { turnId, text: JSON.stringify(kept), forgetAt });
}

/** Omits the part of the conversation that earlier responses have. */
function selectAdded(turn: StatelessRequest, { previous }: KeptResponse): Pick<StoredRequest, 'turn' | 'added'> {
  if (previous === undefined) return { turn };
  const { history: _history, message: _message, images: _images, since: _since, system: _system, ...parameters } = turn;
  const messages = listMessages(turn);
  return { turn: parameters, added: messages.slice(Math.max(0, messages.length - previous.messages)) };
}

/** Lists the messages of a conversation in order. */
export function listMessages({ history = [], message, images, since = [] }: StoredRequest['turn']): TurnMessage[] {
  const request = message === undefined ? [] : [{ role: 'user' as const, text: message, ...(images === undefined ? {} : { images }) }];
  return [...history, ...request, ...since];
}

/** Returns undefined for turns that are no responses. */
export async function loadRequest(bodies: Bodies, { turnId, request }: KeyedTurnDocument): Promise<StoredRequest | undefined> {
  return request && StoredRequest.parse(JSON.parse(await loadText(bodies, turnId, request)));
}

/** Restores the principal that a response runs for. */
export function buildCaller(
  tenant: string,
  { client }: KeyedTurnDocument,
  { scopes, sessions, budgets, agents }: StoredRequest,
): Principal {
  const held = { ...(sessions && { sessions }), ...(budgets && { budgets }), ...(agents && { agents }) };
  return { tenant, client, scopes: scopes as Principal['scopes'], ...held };
}
