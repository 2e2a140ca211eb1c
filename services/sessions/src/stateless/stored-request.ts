import { AllowedAgents, KeptResponse, KeyedTurn, SpendLimits, type Principal } from '@switchyard/contracts';
import { z } from 'zod';
import type { KeptDocument } from '../model/keyed-turn-document.ts';
import { keepAs, textOf, type Bodies } from '../model/stored-text.ts';
import type { Said } from '../model/text-document.ts';

const StatelessRequest = KeyedTurn.omit({ turnId: true, idempotencyKey: true, fingerprint: true, head: true, whole: true, response: true });

/** What is kept of the request of a response: enough to run it again, and to go on from it. */
const KeptRequest = z.object({
  turn: StatelessRequest,
  response: KeptResponse,
  scopes: z.array(z.string()),
  /** The id under which it was asked for, so that whoever runs it can say so. */
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

/** Written before the document that names it; undefined for a turn that is no response. */
export function keepRequest(bodies: Bodies, asked: KeyedTurn, { principal, requestId, forgetAt }: Keeping): Promise<Said> | undefined {
  const { turnId, idempotencyKey: _key, fingerprint: _print, head: _head, whole: _whole, response, ...turn } = asked;
  if (response === undefined) return undefined;
  const { scopes, sessions, budgets, agents } = principal;
  const held = { ...(sessions && { sessions }), ...(budgets && { budgets }), ...(agents && { agents: [...agents] }) };
  const kept: KeptRequest = { turn, response, requestId, scopes: [...scopes], ...held };
  return keepAs(bodies, { turnId, text: JSON.stringify(kept), forgetAt });
}

/** Undefined for a turn that is no response. */
export async function requestOf(bodies: Bodies, { turnId, asked }: KeptDocument): Promise<KeptRequest | undefined> {
  return asked && KeptRequest.parse(JSON.parse(await textOf(bodies, turnId, asked)));
}

/** Whom a response is run for. */
export function callerOf(tenant: string, { client }: KeptDocument, { scopes, sessions, budgets, agents }: KeptRequest): Principal {
  const held = { ...(sessions && { sessions }), ...(budgets && { budgets }), ...(agents && { agents }) };
  return { tenant, client, scopes: scopes as Principal['scopes'], ...held };
}
