import type { Adapter, EmbedAttempt } from '../model/adapter.ts';
import { modelNotFound } from '../errors/provider-errors.ts';
import type { CatalogueEntry, EmbedAnswer } from '../model/model.ts';
import { priceOf, toUsage } from '../model/usage.ts';

export interface EmbedStep {
  provider: string;
  adapter: Adapter;
  attempt: EmbedAttempt;
  cost: CatalogueEntry['cost'] | undefined;
}

/** One attempt at turning texts into vectors. */
export async function embedStep({ provider, adapter, attempt, cost }: EmbedStep): Promise<EmbedAnswer> {
  if (adapter.embed === undefined) throw modelNotFound(`provider ${provider} has no models that make vectors`);
  const { request, signal } = attempt;
  const { vectors, model, tokens } = await adapter.embed(attempt);
  signal.throwIfAborted();
  const chars = (): number => request.input.reduce((sum, text) => sum + text.length, 0);
  const usage = toUsage({ ...(tokens === undefined ? {} : { input: tokens }), output: 0 }, { input: chars, output: 0 });
  return { vectors, model: model ?? request.model.modelId, tokens: usage.input, costUsd: priceOf(usage, cost) };
}
