import { servicePrincipal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { listPrice } from '../../budgets/model-prices.ts';
import { savedBy, type Priced } from '../../cache-stats/cache-savings.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import { getChannel } from '../../model/session-key.ts';
import type { TurnUsage } from '../../model/checkpoint-log.ts';
import type { TurnOutcome } from '../../agent-loop/turn-plan.ts';

interface UsageEventDeps {
  bus: Bus;
  models: Priced;
}

/**
 * Emits the token usage of a turn. Delivery is best effort, because the session document has the totals. The total cost covers all models
 * that were called; its parts use the price list of the last model and are 0 without a price.
 */
export async function emitTokenUsage(
  { bus, models }: UsageEventDeps,
  tenant: string,
  turn: TurnDocument,
  outcome: TurnOutcome,
): Promise<void> {
  const { model, result, latencyMs, spent } = outcome;
  const { input, output, total } = result.tokensUsed;
  const price = await listPrice(models, model);
  bus.as(servicePrincipal('sessions', tenant)).emit('observability:token_usage', {
    timestamp: Date.now(),
    traceId: turn.turnId,
    agentId: turn.agentId,
    channelId: getChannel(turn.sessionKey),
    executionId: turn.turnId,
    provider: model.provider,
    model: model.modelId,
    tokens: { prompt: input, completion: output, total },
    cost: { ...splitCost(spent, price), total: spent.costUsd },
    latencyMs: Math.round(latencyMs),
    cacheReadTokens: spent.cacheRead,
    cacheWriteTokens: spent.cacheWrite,
    sessionKey: turn.sessionKey,
    savedVsUncached: savedBy(spent, price),
    cacheEligible: price !== undefined && price.cacheRead > 0,
  });
}

const MILLION = 1_000_000;

function splitCost({ input, output, cacheRead, cacheWrite }: TurnUsage, price: Awaited<ReturnType<typeof listPrice>>) {
  if (price === undefined) return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const fresh = Math.max(0, input - cacheRead - cacheWrite);
  return {
    input: (fresh * price.input) / MILLION,
    output: (output * price.output) / MILLION,
    cacheRead: (cacheRead * price.cacheRead) / MILLION,
    cacheWrite: (cacheWrite * price.cacheWrite) / MILLION,
  };
}
