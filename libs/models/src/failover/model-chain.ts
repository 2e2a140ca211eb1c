import { oauthTokenName } from '@switchyard/contracts';
import type { ModelRef } from '../model/model.ts';
import type { CircuitBreakers } from './circuit-breakers.ts';
import { circuitOpenError, modelNotAllowedError } from './fault-classification.ts';
import type { KeyCooldowns } from './key-cooldowns.ts';
import type { FailoverContext } from './failover.ts';
import type { ProviderHealth } from './provider-health.ts';

/** A model and the key to call it with, if the agent configures keys. */
export interface Candidate {
  model: ModelRef;
  keyName: string | undefined;
  /** The name of its circuit breaker for all clients of the agent, and of the one for the calling client. */
  name: string;
  clientName?: string;
}

const NONE: Readonly<Record<string, string>> = {};

/** State of earlier calls. */
export interface FailoverState {
  breakers: CircuitBreakers;
  health: ProviderHealth;
  keys: KeyCooldowns;
}

/**
 * Resolves the candidates in order: the requested model, then the fallback models, each with the keys of its provider. Degraded providers
 * and cooling keys are skipped if there are others. Candidates with an open circuit breaker are always skipped. Never empty.
 */
export function resolveChain(state: FailoverState, context: FailoverContext, requested: ModelRef): Candidate[] {
  const { agentId, config } = context;
  const all = addClient(listCandidates(state, context, requested), context);
  if (all.length === 0) throw modelNotAllowedError(agentId, formatModelName(requested));
  const [only, further] = all;
  const getRemainingMs = (candidate: Candidate): number =>
    Math.max(...getBreakerNames(candidate).map((name) => state.breakers.getRemainingMs(name, config.circuitBreaker)));
  if (only && !further && getRemainingMs(only) === 0) return all;
  const waits = all.map(getRemainingMs);
  const open = all.filter((_, at) => waits[at] === 0);
  if (open.length === 0) {
    throw circuitOpenError(agentId, formatModelName(requested), {
      waitMs: Math.min(...waits),
      lastError: findLastError(state, all[0], config),
    });
  }
  const ready = open.filter((one) => isReady(state, one));
  return (ready.length === 0 ? open : ready).slice(0, config.modelFailover.maxAttempts);
}

/** The breakers that must be closed for a call. */
export function getBreakerNames({ name, clientName }: Candidate): string[] {
  return clientName === undefined ? [name] : [name, clientName];
}

function addClient(candidates: Candidate[], { client }: FailoverContext): Candidate[] {
  return client === undefined ? candidates : candidates.map((one) => ({ ...one, clientName: `${one.name} client ${client}` }));
}

/** Returns the last error of the breaker that is open. */
function findLastError({ breakers }: FailoverState, candidate: Candidate | undefined, { circuitBreaker }: FailoverContext['config']) {
  const names = candidate === undefined ? [] : getBreakerNames(candidate);
  const open = names.find((name) => breakers.getRemainingMs(name, circuitBreaker) > 0);
  return open === undefined ? undefined : breakers.getLastError(open);
}

/** Lists all configured candidates. Most agents have only one. */
function listCandidates(state: FailoverState, context: FailoverContext, requested: ModelRef): Candidate[] {
  const { fallbackModels, allowedModels, authProfiles } = context.config.modelFailover;
  if (fallbackModels.length + allowedModels.length + authProfiles.length === 0) return listModelCandidates(state, context, requested);
  const further = fallbackModels.map(({ provider, modelId }) => ({ provider, modelId }));
  const models = [requested, ...further].filter((model) => isAllowed(model, allowedModels));
  return removeDuplicates(models.flatMap((model) => listModelCandidates(state, context, model)));
}

/**
 * Lists the keys of an agent for a provider: the OAuth profile, then its keys, the last working one first.
 */
function listModelCandidates({ keys }: FailoverState, { tenant, agentId, config }: FailoverContext, model: ModelRef): Candidate[] {
  const { provider, modelId } = model;
  const { oauthProfiles = NONE } = config;
  const { authProfiles } = config.modelFailover;
  const about = { model: { provider, modelId } };
  const name = `${tenant} ${agentId} ${formatModelName(model)}`;
  const configuredKeys =
    authProfiles.length === 0 ? [] : authProfiles.filter((one) => one.provider === provider).map(({ keyName }) => keyName);
  const profile = Object.hasOwn(oauthProfiles, provider) ? oauthProfiles[provider] : undefined;
  const oauthKeys = profile === undefined ? [] : [oauthTokenName(provider, profile)];
  if (configuredKeys.length + oauthKeys.length === 0) return [{ ...about, keyName: undefined, name }];
  const lastWorking = keys.getLastWorkingKey(provider);
  const names = [
    ...oauthKeys,
    ...(lastWorking !== undefined && configuredKeys.includes(lastWorking) ? [lastWorking, ...configuredKeys] : configuredKeys),
  ];
  return names.map((keyName) => ({ ...about, keyName, name: `${name} ${keyName}` }));
}

function isReady({ health, keys }: FailoverState, { model: { provider }, keyName }: Candidate): boolean {
  return !health.isDegraded(provider) && !(keyName !== undefined && keys.isCoolingDown({ provider, keyName }));
}

/** Throws FAILED_PRECONDITION, `MODEL_NOT_ALLOWED` for a model that the agent must not use. */
export function requireAllowed({ agentId, config }: Pick<FailoverContext, 'agentId' | 'config'>, model: ModelRef): void {
  if (!isAllowed(model, config.modelFailover.allowedModels)) throw modelNotAllowedError(agentId, formatModelName(model));
}

/** Matches `provider/model` or the bare model id. An empty list allows all. */
export function isAllowed(model: ModelRef, allowed: readonly string[]): boolean {
  return allowed.length === 0 || allowed.includes(formatModelName(model)) || allowed.includes(model.modelId);
}

function removeDuplicates(all: readonly Candidate[]): Candidate[] {
  return [...new Map(all.map((one) => [one.name, one])).values()];
}

export function formatModelName({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
