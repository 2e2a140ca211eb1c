import { oauthTokenName } from '@switchyard/contracts';
import type { ModelRef } from '../model/model.ts';
import type { Breakers } from './circuit-breakers.ts';
import { circuitOpen, notAllowed } from './fault-classification.ts';
import type { KeyCooldowns } from './key-cooldowns.ts';
import type { Asker } from './failover.ts';
import type { ProviderHealth } from './provider-health.ts';

/** A model that may be asked, and the key it is asked with where the agent names keys. */
export interface Candidate {
  model: ModelRef;
  keyName: string | undefined;
  /** Under which its failures are counted. */
  name: string;
}

const NONE: Readonly<Record<string, string>> = {};

/** What is remembered of earlier calls. */
export interface Memory {
  breakers: Breakers;
  health: ProviderHealth;
  keys: KeyCooldowns;
}

/**
 * Who is asked, in order: the model meant, then those of the chain, each with the keys of its provider. What was refused or degraded
 * lately is passed over while there is another; what is left alone is not asked at all. Never empty.
 */
export function chainOf(memory: Memory, asker: Asker, meant: ModelRef): Candidate[] {
  const { agentId, config } = asker;
  const all = configured(memory, asker, meant);
  if (all.length === 0) throw notAllowed(agentId, nameOf(meant));
  const [only, further] = all;
  if (only && !further && memory.breakers.waitMs(only.name, config.circuitBreaker) === 0) return all;
  const waits = all.map(({ name }) => memory.breakers.waitMs(name, config.circuitBreaker));
  const open = all.filter((_, at) => waits[at] === 0);
  if (open.length === 0) {
    const why = memory.breakers.why(all[0]?.name ?? '');
    throw circuitOpen(agentId, nameOf(meant), { waitMs: Math.min(...waits), why });
  }
  const ready = open.filter((one) => isReady(memory, one));
  return (ready.length === 0 ? open : ready).slice(0, config.modelFailover.maxAttempts);
}

/** All that the agent names. Most name none but the model meant: there is one to be asked then, before every turn. */
function configured(memory: Memory, asker: Asker, meant: ModelRef): Candidate[] {
  const { fallbackModels, allowedModels, authProfiles } = asker.config.modelFailover;
  if (fallbackModels.length + allowedModels.length + authProfiles.length === 0) return candidatesOf(memory, asker, meant);
  const further = fallbackModels.map(({ provider, modelId }) => ({ provider, modelId }));
  const models = [meant, ...further].filter((model) => isAllowed(model, allowedModels));
  return distinct(models.flatMap((model) => candidatesOf(memory, asker, model)));
}

/**
 * What an agent names for a provider: the sign-in of its profile there, then its keys, the one that answered last before the others
 * in their order.
 */
function candidatesOf({ keys }: Memory, { tenant, agentId, config }: Asker, model: ModelRef): Candidate[] {
  const { provider, modelId } = model;
  const { oauthProfiles = NONE } = config;
  const { authProfiles } = config.modelFailover;
  const about = { model: { provider, modelId } };
  const name = `${tenant} ${agentId} ${nameOf(model)}`;
  const named = authProfiles.length === 0 ? [] : authProfiles.filter((one) => one.provider === provider).map(({ keyName }) => keyName);
  const profile = Object.hasOwn(oauthProfiles, provider) ? oauthProfiles[provider] : undefined;
  const signedIn = profile === undefined ? [] : [oauthTokenName(provider, profile)];
  if (named.length + signedIn.length === 0) return [{ ...about, keyName: undefined, name }];
  const good = keys.lastGood(provider);
  const names = [...signedIn, ...(good !== undefined && named.includes(good) ? [good, ...named] : named)];
  return names.map((keyName) => ({ ...about, keyName, name: `${name} ${keyName}` }));
}

function isReady({ health, keys }: Memory, { model: { provider }, keyName }: Candidate): boolean {
  return !health.isDegraded(provider) && !(keyName !== undefined && keys.rests({ provider, keyName }));
}

/** Refuses a model that an agent may not use (FAILED_PRECONDITION, `MODEL_NOT_ALLOWED`). */
export function requireAllowed({ agentId, config }: Pick<Asker, 'agentId' | 'config'>, model: ModelRef): void {
  if (!isAllowed(model, config.modelFailover.allowedModels)) throw notAllowed(agentId, nameOf(model));
}

/** By `provider/model`, or by the model alone; empty allows all. */
function isAllowed(model: ModelRef, allowed: readonly string[]): boolean {
  return allowed.length === 0 || allowed.includes(nameOf(model)) || allowed.includes(model.modelId);
}

function distinct(all: readonly Candidate[]): Candidate[] {
  return [...new Map(all.map((one) => [one.name, one])).values()];
}

export function nameOf({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
