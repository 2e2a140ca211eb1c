import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { DefaultEmbedder, EmbedAnswer, ModelRef, Models } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Agents } from '../agents/agents.ts';

export interface ModelsEmbedDeps {
  agents: Agents;
  models: Models;
  settings: Settings<'embedding'>;
}

/** Turns texts into vectors, by whom the name or the configuration says. What it cost is told to the caller's tenant. */
export function modelsEmbed({ agents, models, settings }: ModelsEmbedDeps): Handler<'models.embed'> {
  return async ({ model: name, input, dimensions }, ctx) => {
    const { enabled, provider } = settings.current.embedding;
    const model = enabled ? await models.embedder(name, standardOf(provider)) : undefined;
    if (model === undefined) throw noEmbedder();
    const startedAt = performance.now();
    const answer = await models.embed({
      model,
      input,
      ...(dimensions === undefined ? {} : { dimensions }),
      signal: ctx.signal,
      promptTimeoutMs: Math.max(1, ctx.deadline - Date.now()),
      traceparent: ctx.traceparent,
    });
    tellUsage(ctx, { agentId: agents.defaultId(), model, answer, latencyMs: Math.round(performance.now() - startedAt) });
    return { model: answer.model, vectors: answer.vectors };
  };
}

/** The vectors of `local` are made where memory is kept, and nowhere else. */
function standardOf(provider: 'auto' | 'local' | 'openai'): DefaultEmbedder {
  if (provider === 'auto') return 'any';
  return provider === 'local' ? 'none' : { provider };
}

function noEmbedder(): ServiceError {
  return new ServiceError('NOT_FOUND', 'No embedding provider configured', { details: { reason: 'NO_EMBEDDER' } });
}

interface Used {
  agentId: string;
  model: ModelRef;
  answer: EmbedAnswer;
  latencyMs: number;
}

/** Nobody's agent asked; it is counted with the default one, as what the tenant itself uses. */
function tellUsage(ctx: Ctx, { agentId, model, answer: { tokens, costUsd }, latencyMs }: Used): void {
  ctx.emit('observability:token_usage', {
    timestamp: Date.now(),
    traceId: ctx.requestId,
    agentId,
    channelId: 'openai',
    executionId: ctx.requestId,
    provider: model.provider,
    model: model.modelId,
    tokens: { prompt: tokens, completion: 0, total: tokens },
    cost: { input: costUsd, output: 0, cacheRead: 0, cacheWrite: 0, total: costUsd },
    latencyMs,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    sessionKey: `${ctx.principal.tenant}:openai-api:openai`,
    savedVsUncached: 0,
    cacheEligible: false,
  });
}
