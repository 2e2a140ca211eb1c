import type { Adapter } from '../model/adapter.ts';
import type { CatalogueEntry } from '../model/model.ts';
import { createDevModel, type Behaviour } from './dev-model.ts';
import { createFlaky, echo, slow } from './echo.ts';
import { scripted } from './scripted.ts';
import { tools } from './tools.ts';

export const DEV_PROVIDER = 'dev';
export const DEV_MODELS = ['echo', 'scripted', 'tools', 'slow', 'flaky'] as const;

/** Creates the development models, which are available without a provider. They need no key, cost nothing and identify themselves. */
export function createDevProvider(): (modelId: string) => Adapter | undefined {
  const behaviours: Record<(typeof DEV_MODELS)[number], Behaviour> = { echo, scripted, tools, slow, flaky: createFlaky() };
  const models = new Map(Object.entries(behaviours).map(([id, behave]) => [id, createDevModel(behave)]));
  return (modelId) => models.get(modelId);
}

export const devCatalogue: readonly CatalogueEntry[] = DEV_MODELS.map((modelId) => ({
  provider: DEV_PROVIDER,
  modelId,
  displayName: `dev/${modelId} (development model)`,
  // Development models have no input limit.
  contextWindow: 1_048_576,
  maxTokens: 32_000,
  baseUrl: '',
  input: ['text'],
  reasoning: false,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  validated: false,
  validatedAt: null,
}));
