import { AllowedAgents, KeptResponse, KeyedTurn, SpendLimits, type Principal } from '@switchyard/contracts';
import { z } from 'zod';
import type { KeptDocument } from '../model/keyed-turn-document.ts';
import { keepAs, textOf, type Bodies } from '../model/stored-text.ts';
import type { Said } from '../model/text-document.ts';

const StatelessRequest = KeyedTurn.omit({ turnId: true, idempotencyKey: true, fingerprint: true, head: true, whole: true, response: true });

/** Stored request of a response: enough to run it again and to continue from it. */
const KeptRequest = z.object({
  turn: StatelessRequest,
  response: KeptResponse,
  scopes: z.array(z.string()),
  /** Request id, for logs of the run. */
  requestId: z.string(),
  sessions: z.literal('own').optional(),
  budgets: SpendLimits.optional(),
  agents: AllowedAgents.optional(),
});
export type KeptRequest = z.infer<typeof KeptRequest>;

interface Keeping {
  principal: Principal;
  requestId: string;
  forgetAt: number;
}

/** Stores the request before the document that refers to it. Returns undefined for turns that are no responses. */
export function keepRequest(bodies: Bodies, asked: KeyedTurn, { principal, requestId, forgetAt }: Keeping): Promise<Said> | undefined {
  const { turnId, idempotencyKey: _key, fingerprint: _print, head: _head, whole: _whole, response, ...turn } = asked;
  if (response === undefined) return undefined;
  const { scopes, sessions, budgets, agents } = principal;
  const held = { ...(sessions && { sessions }), ...(budgets && { budgets }), ...(agents && { agents: [...agents] }) };
  const kept: KeptRequest = { turn, response, requestId, scopes: [...scopes], ...held };
  return keepAs(bodies, { turnId, text: JSON.stringify(kept), forgetAt });
}

/** Returns undefined for turns that are no responses. */
export async function requestOf(bodies: Bodies, { turnId, asked }: KeptDocument): Promise<KeptRequest | undefined> {
  return asked && KeptRequest.parse(JSON.parse(await textOf(bodies, turnId, asked)));
}

/** Restores the principal that a response runs for. */
export function callerOf(tenant: string, { client }: KeptDocument, { scopes, sessions, budgets, agents }: KeptRequest): Principal {
  const held = { ...(sessions && { sessions }), ...(budgets && { budgets }), ...(agents && { agents }) };
  return { tenant, client, scopes: scopes as Principal['scopes'], ...held };
}
