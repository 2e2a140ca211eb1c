import { FullFor, type Principal, type ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../request/caller.ts';

/**
 * What a service said is full. Whoever asks for the same meanwhile is refused here: at several times what a service can do, most of
 * what it would do is to refuse.
 */
export interface Full {
  /** A service has refused a call; where it says for how long it would refuse the like of it, that is known from now on. */
  note(method: string, caller: Caller, error: ServiceError): void;
  /** What the service would say to a call, where it is known; undefined where it must be asked. */
  refusal(method: string, caller: Caller, params: Uint8Array): ServiceError | undefined;
}

/** Longer params are not looked into: to refuse must cost little. */
const MOST_BYTES = 4_096;
/** No service is trusted for longer: what it said may not be so any more. */
const MOST_MS = 100;
/** Methods and tenants with cached refusals; the least recently used one is evicted first. */
const MOST_KNOWN = 1_000;

interface Known extends FullFor {
  error: ServiceError;
  /** Until then no more than these are let through; none at first. */
  until: number;
  left: number;
  /** So many are let through in the next round. */
  next: number;
}

export function createFull(clock: Pick<Clock, 'now'>): Full {
  /** By method and tenant: those of its agents. */
  const known = new LRUCache<string, Map<string, Known>>({ max: MOST_KNOWN });

  function put(key: string, one: Known): void {
    const agents = known.get(key) ?? new Map<string, Known>();
    known.set(key, agents.set(one.agentId, one));
  }

  return {
    note(method, { principal }, error) {
      const full = FullFor.safeParse(error.details.fullFor).data;
      if (!full) return;
      const until = clock.now() + Math.min(full.ms, MOST_MS);
      put(`${method} ${principal.tenant}`, { ...full, error, until, left: 0, next: full.tries?.calls ?? 0 });
    },

    refusal(method, { principal }, params) {
      if (known.size === 0 || params.length > MOST_BYTES) return undefined;
      const key = `${method} ${principal.tenant}`;
      const agents = known.get(key);
      if (!agents) return undefined;
      const now = clock.now();
      for (const [agentId, one] of agents) if (one.until <= now && !goesOn(one, now)) agents.delete(agentId);
      if (agents.size === 0) known.delete(key);
      const meant = agents.size === 0 ? undefined : agentMeant(params, principal);
      if (!meant) return undefined;
      for (const one of agents.values())
        if (one.agentId === meant.agentId || (meant.agentId === undefined && one.standard)) return one.left-- > 0 ? undefined : one.error;
      return undefined;
    },
  };
}

/**
 * When the time is over all that come at once would be sent on before the first of them is answered. So as many are as the service
 * expects to have room for, and twice as many in each round after it, until one is refused again. False where all that came in a
 * round were sent on: then there is no need to hold back.
 */
function goesOn(one: Known, now: number): boolean {
  if (!one.tries || one.left > 0 || now - one.until >= MOST_MS) return false;
  one.until = now + Math.min(one.tries.everyMs, MOST_MS);
  one.left = one.next;
  one.next *= 2;
  return true;
}

/**
 * Which agent a call is for; undefined where that is not plain. A call with a key may have been made before, a command may be meant
 * to end what is in the way, and what is wrong is for its owner to say.
 */
function agentMeant(params: Uint8Array, { agent, agents }: Principal): { agentId: string | undefined } | undefined {
  const { message, idempotencyKey, agentId = agent, sessionKey = {} } = parsed(params);
  if (typeof message !== 'string' || message === '' || message.startsWith('/') || idempotencyKey !== undefined) return undefined;
  if (typeof sessionKey !== 'object' || sessionKey === null) return undefined;
  const meant = agentId === undefined ? (sessionKey as Record<string, unknown>).agentId : agentId;
  // Whose token is held to some agents has another standard than the tenant.
  if (meant === undefined) return agents ? undefined : { agentId: undefined };
  return typeof meant === 'string' ? { agentId: meant } : undefined;
}

function parsed(params: Uint8Array): Record<string, unknown> {
  return JSON.parse(Buffer.from(params.buffer, params.byteOffset, params.length).toString()) as Record<string, unknown>;
}
