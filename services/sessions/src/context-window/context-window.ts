import type { CapabilityClass } from '@switchyard/contracts';
import type { ModelRef, Models } from '@switchyard/models';
import type { Agent } from '../agents/agent-directory.ts';
import { getCapability } from './model-capability.ts';

/** Estimated characters per token. */
export const CHARS_PER_TOKEN = 4;
/** Share of the window left free, because the estimate is rough and models read a full window badly. */
const SPARE_SHARE = 0.3;
/** Maximum share of the window for the answer. */
const ANSWER_SHARE = 0.25;

/** Context window and output limit of a model, in tokens. */
export interface ModelWindow {
  contextWindow: number;
  maxTokens: number;
  capability: CapabilityClass;
}

/** Windows by model name, for one revision of the catalogue. */
const windows = new WeakMap<object, Promise<ReadonlyMap<string, ModelWindow>>>();

/** Returns how many characters of conversation fit the prompt: the agent's limit, and no more than the window allows. */
export async function getHistoryChars(models: Models, agent: Agent, model: ModelRef): Promise<number> {
  return computeHistoryChars(applyCap(await getModelWindow(models, model), agent), agent);
}

/** Limits the window for small models as configured by the agent, because they read long texts badly. */
export function applyCap(window: ModelWindow | undefined, { config }: Agent): ModelWindow | undefined {
  const { enabled, budget } = config.contextEngine;
  if (!enabled || window === undefined) return window;
  const caps: Partial<Record<CapabilityClass, number>> = { small: budget.effectiveContextCapSmall, nano: budget.effectiveContextCapNano };
  const cap = caps[window.capability] ?? 0;
  return cap === 0 || cap >= window.contextWindow ? window : { ...window, contextWindow: cap };
}

export function computeHistoryChars(window: ModelWindow | undefined, { config }: Agent): number {
  if (window === undefined) return config.maxContextChars;
  const { contextWindow } = window;
  const answer = computeAnswerTokens(contextWindow, config);
  return Math.min(config.maxContextChars, Math.max(0, Math.floor((contextWindow * (1 - SPARE_SHARE) - answer) * CHARS_PER_TOKEN)));
}

function computeAnswerTokens(contextWindow: number, { maxTokens, session, contextEngine }: Agent['config']): number {
  const usual = Math.min(maxTokens ?? session.compaction.reserveTokens, contextWindow * ANSWER_SHARE);
  return Math.max(usual, getMinAnswerTokens(contextWindow, contextEngine.budget.minVisibleOutputTokens));
}

/** Returns how the window of a model is divided, in tokens. The rest is for the conversation. */
export function computeBudgets({ contextWindow }: ModelWindow, { config }: Agent) {
  return {
    windowTokens: contextWindow,
    outputReserve: Math.floor(computeAnswerTokens(contextWindow, config)),
    safetyMargin: Math.ceil(contextWindow * SPARE_SHARE),
  };
}

/** Minimum tokens for the answer; in a very small window no more than its maximum share. */
export function getMinAnswerTokens(contextWindow: number, minVisibleOutputTokens: number): number {
  return Math.min(minVisibleOutputTokens, contextWindow * ANSWER_SHARE);
}

/** Undefined for a model that is not in the catalogue. */
export async function getModelWindow(models: Models, { provider, modelId }: ModelRef): Promise<ModelWindow | undefined> {
  const revision = await models.revision();
  const known = windows.get(revision) ?? readWindows(models);
  windows.set(revision, known);
  return (await known).get(`${provider}/${modelId}`);
}

async function readWindows(models: Models): Promise<ReadonlyMap<string, ModelWindow>> {
  const catalogue = await models.catalogue();
  return new Map(catalogue.map((entry) => [`${entry.provider}/${entry.modelId}`, { ...entry, capability: getCapability(entry) }]));
}

/** Maximum characters of history returned by one lookup. */
export function getMaxLookupChars({ config }: Agent): number {
  return config.contextEngine.maxExpandTokens * CHARS_PER_TOKEN;
}

export function toTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}
