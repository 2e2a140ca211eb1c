import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError, type Input, type Result } from '@switchyard/contracts';
import type { DefaultEmbedder, EmbedAnswer, ModelRef, Models } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Agents } from '../../agents/agents.ts';

export interface ModelsEmbedDeps {
  agents: Agents;
  models: Models;
  settings: Settings<'embedding'>;
}

/** Average length of a token. */
const CHARS_PER_TOKEN = 4;

/**
 * Embeds texts with the requested or the configured model. The estimated usage is reserved in the budgets of the agent and the caller
 * before the call, and the rest is added after it. The cost is reported to the caller's tenant.
 */
export function modelsEmbed({ agents, models, settings }: ModelsEmbedDeps): Handler<'models.embed'> {
  return async ({ model: name, input, dimensions, agentId }, ctx) => {
    const { enabled, provider } = settings.current.embedding;
    const model = enabled ? await models.embedder(name, resolveDefaultEmbedder(provider)) : undefined;
    if (model === undefined) throw createNoEmbedderError();
    const spending = { ...model, ...(agentId === undefined ? {} : { agentId }) };
    const counted = await ctx.call('budgets.spend', { ...spending, tokens: estimateTokens(input) });
    const startedAt = performance.now();
    const answer = await models.embed({
      model,
      input,
      ...(dimensions === undefined ? {} : { dimensions }),
      signal: ctx.signal,
      promptTimeoutMs: Math.max(1, ctx.deadline - Date.now()),
      traceparent: ctx.traceparent,
    });
    addRemainingUsage(ctx, { spending, counted, answer });
    reportUsage(ctx, { agentId: agentId ?? agents.defaultId(), model, answer, latencyMs: Math.round(performance.now() - startedAt) });
    return { model: answer.model, vectors: answer.vectors };
  };
}

function estimateTokens(input: readonly (string | number[])[]): number {
  return Math.ceil(input.reduce((sum, entry) => sum + (typeof entry === 'string' ? entry.length / CHARS_PER_TOKEN : entry.length), 0));
}

interface BudgetedCall {
  spending: Omit<Input<'budgets.spend'>, 'tokens' | 'costUsd' | 'late'>;
  counted: Result<'budgets.spend'>;
  answer: EmbedAnswer;
}

/** Runs in the background: a failure must not discard vectors that were paid for. */
function addRemainingUsage(ctx: Ctx, { spending, counted, answer }: BudgetedCall): void {
  const tokens = Math.max(0, answer.tokens - counted.tokens);
  const costUsd = Math.max(0, answer.costUsd - counted.costUsd);
  if (tokens === 0 && costUsd === 0) return;
  ctx.call('budgets.spend', { ...spending, tokens, costUsd, late: true }).catch((err: unknown) => {
    ctx.log.warn(
      { err, errorKind: 'dependency', hint: 'later calls are counted' },
      'failed to add the usage of an embedding to the budgets',
    );
  });
}

/** `local` vectors are computed only in the memory service. */
function resolveDefaultEmbedder(provider: 'auto' | 'local' | 'openai'): DefaultEmbedder {
  if (provider === 'auto') return 'any';
  return provider === 'local' ? 'none' : { provider };
}

function createNoEmbedderError(): ServiceError {
  return new ServiceError('NOT_FOUND', 'No embedding provider configured', { details: { reason: 'NO_EMBEDDER' } });
}

interface UsageReport {
  agentId: string;
  model: ModelRef;
  answer: EmbedAnswer;
  latencyMs: number;
}

/** Usage without an agent is reported for the default agent. */
function reportUsage(ctx: Ctx, { agentId, model, answer: { tokens, costUsd }, latencyMs }: UsageReport): void {
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
