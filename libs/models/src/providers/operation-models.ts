import type { AgentConfig } from '@switchyard/contracts';
import type { CatalogueEntry, ModelRef, Models } from '../model/model.ts';

type Tier = 'primary' | 'mid' | 'fast';

/** Operation types with their default model tier and timeout. */
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
  /** Whether a cheaper model than the primary model is used. */
  tieringActive: boolean;
  timeoutMs: number;
}

export interface OperationModelOptions {
  /** The primary model of the agent. */
  primary: ModelRef;
  config: Pick<AgentConfig, 'model' | 'operationModels' | 'promptTimeout' | 'modelFailover'>;
}

/** Selects the model of an operation: the configured one if available, else a model of the primary's provider by price. */
export async function operationModel(
  models: Pick<Models, 'catalogue' | 'find'>,
  { primary, config }: OperationModelOptions,
  operation: AgentOperation,
): Promise<OperationModel> {
  const { tier, timeoutMs: defaultTimeoutMs = config.promptTimeout.promptTimeoutMs } = OPERATIONS[operation];
  if (operation === 'interactive') {
    return { model: primary, source: config.model === 'default' ? 'default' : 'config', tieringActive: false, timeoutMs: defaultTimeoutMs };
  }
  const { model: name, timeout: timeoutMs = defaultTimeoutMs } = getConfiguredModel(config.operationModels, operation);
  const named = name === undefined ? undefined : await models.find(name);
  if (named) return { model: named, source: 'config', tieringActive: false, timeoutMs };
  const model = tier === 'primary' ? primary : selectByPrice(await models.catalogue(primary.provider), { primary, config }, tier);
  return { model, source: 'default', tieringActive: model !== primary, timeoutMs };
}

/** Returns the configured model of an operation. */
function getConfiguredModel(all: AgentConfig['operationModels'], operation: Exclude<AgentOperation, 'interactive'>) {
  return (operation === 'compaction' ? all.compaction : all[operation]) ?? {};
}

/** Selects a model by price rank: near the cheapest, or the median. Never a model that costs at least as much as the primary. */
function selectByPrice(catalogue: readonly CatalogueEntry[], { primary, config }: OperationModelOptions, tier: 'mid' | 'fast'): ModelRef {
  const { allowedModels } = config.modelFailover;
  const mayUse = ({ provider, modelId }: ModelRef): boolean =>
    allowedModels.length === 0 || allowedModels.includes(modelId) || allowedModels.includes(`${provider}/${modelId}`);
  const priced = catalogue.filter((one) => one.input.includes('text') && getPrice(one) > 0 && mayUse(one));
  const byPrice = priced.toSorted((a, b) => getPrice(a) - getPrice(b));
  const chosen = byPrice[Math.floor((byPrice.length - 1) * (tier === 'fast' ? 0.1 : 0.5))];
  const primaryEntry = catalogue.find(({ modelId }) => modelId === primary.modelId);
  if (chosen === undefined || primaryEntry === undefined || getPrice(chosen) >= getPrice(primaryEntry)) return primary;
  return { provider: chosen.provider, modelId: chosen.modelId };
}

function getPrice({ cost }: CatalogueEntry): number {
  return cost.input + cost.output;
}
