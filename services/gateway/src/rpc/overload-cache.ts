import { FullFor, type Principal, type ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../request/caller.ts';

/**
 * Caches RESOURCE_EXHAUSTED replies per method, tenant and agent, and rejects matching calls in the gateway until they expire. Above
 * its capacity a service would otherwise spend most of its CPU on rejections.
 */
export interface OverloadCache {
  /** Caches the rejection of a service if it has `fullFor` details. */
  recordRejection(method: string, caller: Caller, error: ServiceError): void;
  /** The cached rejection of a call; undefined when the call must be forwarded. */
  findRejection(method: string, caller: Caller, params: Uint8Array): ServiceError | undefined;
}

/** Longer params are not parsed, because a rejection must be cheap. */
const MAX_PARSED_PARAMS_BYTES = 4_096;
/** Maximum TTL, because the load of the service changes. */
const MAX_TTL_MS = 100;
/** Methods and tenants with cached refusals; the least recently used one is evicted first. */
const MAX_ENTRIES = 1_000;

interface CachedRejection extends FullFor {
  error: ServiceError;
  /** When the rejection expires, and the calls let through until then. */
  expiresAt: number;
  remainingCalls: number;
  /** Calls let through in the next round. */
  nextRoundCalls: number;
}

export function createOverloadCache(clock: Pick<Clock, 'now'>): OverloadCache {
  /** Rejections by agent, for each method and tenant. */
  const rejections = new LRUCache<string, Map<string, CachedRejection>>({ max: MAX_ENTRIES });

  function store(key: string, rejection: CachedRejection): void {
    const agents = rejections.get(key) ?? new Map<string, CachedRejection>();
    rejections.set(key, agents.set(rejection.agentId, rejection));
  }

  return {
    recordRejection(method, { principal }, error) {
      const fullFor = FullFor.safeParse(error.details.fullFor).data;
      if (!fullFor) return;
      const expiresAt = clock.now() + Math.min(fullFor.ms, MAX_TTL_MS);
      store(`${method} ${principal.tenant}`, {
        ...fullFor,
        error,
        expiresAt,
        remainingCalls: 0,
        nextRoundCalls: fullFor.tries?.calls ?? 0,
      });
    },

    findRejection(method, { principal }, params) {
      if (rejections.size === 0 || params.length > MAX_PARSED_PARAMS_BYTES) return undefined;
      const key = `${method} ${principal.tenant}`;
      const agents = rejections.get(key);
      if (!agents) return undefined;
      const now = clock.now();
      for (const [agentId, rejection] of agents) if (rejection.expiresAt <= now && !startNextRound(rejection, now)) agents.delete(agentId);
      if (agents.size === 0) rejections.delete(key);
      const target = agents.size === 0 ? undefined : findTargetAgent(params, principal);
      if (!target) return undefined;
      for (const rejection of agents.values())
        if (rejection.agentId === target.agentId || (target.agentId === undefined && rejection.standard))
          return rejection.remainingCalls-- > 0 ? undefined : rejection.error;
      return undefined;
    },
  };
}

/**
 * Starts the next round after a rejection has expired. The first round lets through the number of calls that the service expects to
 * accept, and each further round twice as many, until a call is rejected again. Without rounds all waiting calls would be forwarded
 * before the first reply. Returns false when a round forwarded all of its calls, which ends the limit.
 */
function startNextRound(rejection: CachedRejection, now: number): boolean {
  if (!rejection.tries || rejection.remainingCalls > 0 || now - rejection.expiresAt >= MAX_TTL_MS) return false;
  rejection.expiresAt = now + Math.min(rejection.tries.everyMs, MAX_TTL_MS);
  rejection.remainingCalls = rejection.nextRoundCalls;
  rejection.nextRoundCalls *= 2;
  return true;
}

/**
 * Returns the agent of a call; undefined when the call must be forwarded: a call with an idempotency key may replay a turn, a command
 * may free capacity, and invalid params must be reported by the service.
 */
function findTargetAgent(params: Uint8Array, { agent, agents }: Principal): { agentId: string | undefined } | undefined {
  const { message, idempotencyKey, agentId = agent, sessionKey = {} } = parseJson(params);
  if (typeof message !== 'string' || message === '' || message.startsWith('/') || idempotencyKey !== undefined) return undefined;
  if (typeof sessionKey !== 'object' || sessionKey === null) return undefined;
  const target = agentId === undefined ? (sessionKey as Record<string, unknown>).agentId : agentId;
  // A token restricted to certain agents has another default agent than the tenant.
  if (target === undefined) return agents ? undefined : { agentId: undefined };
  return typeof target === 'string' ? { agentId: target } : undefined;
}

function parseJson(params: Uint8Array): Record<string, unknown> {
  return JSON.parse(Buffer.from(params.buffer, params.byteOffset, params.length).toString()) as Record<string, unknown>;
}
