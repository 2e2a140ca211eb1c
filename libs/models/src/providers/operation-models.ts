import type { AgentConfig } from '@switchyard/contracts';
import type { CatalogueEntry, ModelRef, Models } from '../model/model.ts';

type Tier = 'primary' | 'mid' | 'fast';

/** What an agent needs models for, which of its provider's models does it where nothing else is said, and how long that may take. */
const OPERATIONS = {
  interactive: { tier: 'primary', timeoutMs: undefined },
  subagent: { tier: 'primary', timeoutMs: 120_000 },
  cron: { tier: 'mid', timeoutMs: 150_000 },
  heartbeat: { tier: 'fast', timeoutMs: 60_000 },
  compaction: { tier: 'fast', timeoutMs: 60_000 },
  taskExtraction: { tier: 'fast', timeoutMs: 30_000 },
  condensation: { tier: 'fast', timeoutMs: 30_000 },
} as const satisfies Record<string, { tier: Tier; timeoutMs: number | undefined }>;

export type AgentOperation = keyof typeof OPERATIONS;
export const AGENT_OPERATIONS = Object.keys(OPERATIONS) as AgentOperation[];

export interface OperationModel {
  model: ModelRef;
  source: 'config' | 'default';
  /** It is another one than the agent speaks with, because the work does not need that one. */
  tieringActive: boolean;
  timeoutMs: number;
}

export interface OperationsOf {
  /** What the agent speaks with. */
  primary: ModelRef;
  config: Pick<AgentConfig, 'model' | 'operationModels' | 'promptTimeout' | 'modelFailover'>;
}

/** The model of one kind of work: the one that is named for it and can answer, else one of the primary's provider, by its price. */
export async function operationModel(
  models: Pick<Models, 'catalogue' | 'find'>,
  { primary, config }: OperationsOf,
  operation: AgentOperation,
): Promise<OperationModel> {
  const { tier, timeoutMs: usual = config.promptTimeout.promptTimeoutMs } = OPERATIONS[operation];
  if (operation === 'interactive') {
    return { model: primary, source: config.model === 'default' ? 'default' : 'config', tieringActive: false, timeoutMs: usual };
  }
  const { model: name, timeout: timeoutMs = usual } = namedFor(config.operationModels, operation);
  const named = name === undefined ? undefined : await models.find(name);
  if (named) return { model: named, source: 'config', tieringActive: false, timeoutMs };
  const model = tier === 'primary' ? primary : tierOf(await models.catalogue(primary.provider), { primary, config }, tier);
  return { model, source: 'default', tieringActive: model !== primary, timeoutMs };
}

/** Named by itself where the work is done today: of the others the settings are kept, and do nothing yet. */
function namedFor(all: AgentConfig['operationModels'], operation: Exclude<AgentOperation, 'interactive'>) {
  return (operation === 'compaction' ? all.compaction : all[operation]) ?? {};
}

/** Where a provider’s models are ordered by price: near the cheapest, or in the middle. Never one that costs more than the primary. */
function tierOf(catalogue: readonly CatalogueEntry[], { primary, config }: OperationsOf, tier: 'mid' | 'fast'): ModelRef {
  const { allowedModels } = config.modelFailover;
  const mayUse = ({ provider, modelId }: ModelRef): boolean =>
    allowedModels.length === 0 || allowedModels.includes(modelId) || allowedModels.includes(`${provider}/${modelId}`);
  const priced = catalogue.filter((one) => one.input.includes('text') && priceOf(one) > 0 && mayUse(one));
  const byPrice = priced.toSorted((a, b) => priceOf(a) - priceOf(b));
  const chosen = byPrice[Math.floor((byPrice.length - 1) * (tier === 'fast' ? 0.1 : 0.5))];
  const own = catalogue.find(({ modelId }) => modelId === primary.modelId);
  if (chosen === undefined || own === undefined || priceOf(chosen) >= priceOf(own)) return primary;
  return { provider: chosen.provider, modelId: chosen.modelId };
}

function priceOf({ cost }: CatalogueEntry): number {
  return cost.input + cost.output;
}
