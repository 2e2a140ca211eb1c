import { servicePrincipal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { TurnDocument } from '../data.ts';
import { channelOf } from '../sessions/session-key.ts';
import type { TurnOutcome } from './turn-plan.ts';

/** What a turn cost, for whoever counts in its tenant. May be lost: the session's own totals are in its document. */
export function tellUsage(bus: Bus, tenant: string, turn: TurnDocument, outcome: TurnOutcome): void {
  const { input, output, total } = outcome.result.tokensUsed;
  bus.as(servicePrincipal('sessions', tenant)).emit('observability:token_usage', {
    timestamp: Date.now(),
    traceId: turn.turnId,
    agentId: turn.agentId,
    channelId: channelOf(turn.sessionKey),
    executionId: turn.turnId,
    provider: outcome.model.provider,
    model: outcome.model.modelId,
    tokens: { prompt: input, completion: output, total },
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: outcome.costUsd },
    latencyMs: Math.round(outcome.latencyMs),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    sessionKey: turn.sessionKey,
    savedVsUncached: 0,
    cacheEligible: false,
  });
}
