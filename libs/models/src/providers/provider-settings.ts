import type { ProviderEntry, Sections } from '@switchyard/contracts';
import { explainBlockedHost } from '@switchyard/security';
import { PUBLISHED, type Published } from '../catalogue/published-models.ts';
import { BUILT_IN } from '../catalogue/built-in.ts';
import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import { hasOwner, explainKeyRefusal } from './key-origin.ts';
import type { CatalogueEntry } from '../model/model.ts';
import { DEFAULT_RETRY_POLICY } from '../errors/retry.ts';

/** A resolved provider: address, key, protocol and models. */
export interface ProviderSettings {
  id: string;
  /** The display name; empty if not configured. */
  name: string;
  /** Empty if not configured. Such a provider is unavailable. */
  baseUrl: string;
  /** The name of the secret with the key; undefined if the provider is called without a key. */
  keyName: string | undefined;
  /** The only origin that receives the key. Undefined for keys of built-in providers, which are bound by name. */
  keyOrigin: string | undefined;
  /** Why the default key is not sent to the configured address. The provider is then called without a key. */
  keyWithheld: string | undefined;
  /** Why the configured key must not be sent to the address. Such a provider is unavailable. */
  keyRefusal: string | undefined;
  /** Why the host is not allowed. Such a provider is unavailable. */
  hostRefusal: string | undefined;
  /** Whether the provider can be called without a key, because its address is configured explicitly. */
  keyOptional: boolean;
  headers: Readonly<Record<string, string>>;
  /** Timeout of one attempt until the response starts. */
  timeoutMs: number;
  attempts: number;
  catalogue: readonly CatalogueEntry[];
  /** The API of the provider. */
  protocol: 'chat' | 'anthropic' | 'google';
  /** Substrings of model names that receive no earlier reasoning. */
  dropThinkingHints: readonly string[];
  /** The provider whose API variations apply. */
  family: ProviderFamily;
  toolCallIds: Pick<Capabilities, 'transcriptToolCallIdMode' | 'transcriptToolCallIdModelHints'>;
  /** Configured API variations by model id. */
  modelCompat: ReadonlyMap<string, ModelCompat>;
}

type Capabilities = ProviderEntry['capabilities'];
export type ProviderFamily = Capabilities['providerFamily'];
/** API variations of one model. */
export type ModelCompat = Pick<ProviderEntry['models'][number], 'compat' | 'sdkCompat'>;

type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_TIMEOUT_MS = 120_000;
// Defaults for models without configured limits. Small enough for nearly all models.
const ASSUMED_CONTEXT = 32_768;
const ASSUMED_MAX_TOKENS = 4_096;

interface ProviderSettingsOptions {
  env: Env;
  /** Allowed hosts; empty if all are allowed. */
  hosts: readonly string[];
}

/** Resolves the providers of one revision: configured ones first, then built-in ones. `dev` is not included. */
export function providerSettings(providers: Sections['providers'], options: ProviderSettingsOptions): Map<string, ProviderSettings> {
  const all = new Map<string, ProviderSettings>();
  for (const [id, entry] of Object.entries(providers.entries)) {
    if (id !== DEV_PROVIDER && entry.enabled) all.set(id, resolveProvider(id, entry, options));
  }
  for (const id of Object.keys(BUILT_IN)) {
    if (!Object.hasOwn(providers.entries, id)) all.set(id, resolveProvider(id, undefined, options));
  }
  return all;
}

function resolveProvider(id: string, entry: ProviderEntry | undefined, { env, hosts }: ProviderSettingsOptions): ProviderSettings {
  const builtIn = BUILT_IN[id];
  const ownUrl = (id === 'openai' ? env['OPENAI_BASE_URL'] : undefined) || entry?.baseUrl;
  // Without an address the entry uses the address and the key of its type.
  const borrowed = ownUrl ? undefined : (builtIn ?? BUILT_IN[entry?.type ?? '']);
  const baseUrl = ownUrl || borrowed?.baseUrl || '';
  const configuredKey = entry?.apiKeyName || undefined;
  const keyRefusal = configuredKey === undefined ? undefined : explainKeyRefusal(configuredKey, baseUrl, env);
  const defaultKey = (builtIn ?? borrowed)?.keyName;
  const keyWithheld = configuredKey !== undefined || defaultKey === undefined ? undefined : explainKeyRefusal(defaultKey, baseUrl, env);
  const keyName = configuredKey ?? (keyWithheld === undefined ? defaultKey : undefined);
  return {
    id,
    name: entry?.name ?? '',
    baseUrl,
    keyName,
    keyOrigin: resolveKeyOrigin(keyName, baseUrl),
    keyWithheld,
    keyRefusal,
    hostRefusal: explainBlockedHost(baseUrl, hosts),
    keyOptional: Boolean(ownUrl) && !entry?.apiKeyName,
    headers: entry?.headers ?? {},
    timeoutMs: entry?.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    attempts: entry === undefined ? DEFAULT_RETRY_POLICY.attempts : entry.maxRetries + 1,
    catalogue: buildCatalogue(id, baseUrl, entry),
    protocol: detectProtocol(entry?.type ?? id, baseUrl),
    dropThinkingHints: entry?.capabilities.dropThinkingBlockModelHints ?? [],
    family: resolveFamily(id, entry),
    toolCallIds: entry?.capabilities ?? { transcriptToolCallIdMode: 'default', transcriptToolCallIdModelHints: [] },
    modelCompat: new Map((entry?.models ?? []).map(({ id: modelId, compat, sdkCompat }) => [modelId, { compat, sdkCompat }])),
  };
}

/** Detects the API from the provider type. Addresses that end in `/openai` use chat completions. */
function detectProtocol(type: string, baseUrl: string): ProviderSettings['protocol'] {
  return (type === 'anthropic' || type === 'google') && !/\/openai\/*$/.test(baseUrl) ? type : 'chat';
}

const FAMILIES: ReadonlySet<string> = new Set<ProviderFamily>(['openai', 'anthropic', 'google']);

/** Resolves the family: configured, else from the provider id, else from the type. */
function resolveFamily(id: string, entry: ProviderEntry | undefined): ProviderFamily {
  const configured = entry?.capabilities.providerFamily ?? 'default';
  if (configured !== 'default') return configured;
  return ([id, entry?.type ?? ''].find((one) => FAMILIES.has(one)) as ProviderFamily | undefined) ?? 'default';
}

/** Returns the settings with another key. */
export function withKey(settings: ProviderSettings, keyName: string, env: Env): ProviderSettings {
  const keyRefusal = explainKeyRefusal(keyName, settings.baseUrl, env);
  const keyOrigin = resolveKeyOrigin(keyName, settings.baseUrl);
  return { ...settings, keyName, keyOrigin, keyRefusal, keyWithheld: undefined, keyOptional: false };
}

/** Returns the origin that a key is bound to. Keys of built-in providers are bound by name instead. */
function resolveKeyOrigin(keyName: string | undefined, baseUrl: string): string | undefined {
  return keyName === undefined || hasOwner(keyName) || !URL.canParse(baseUrl) ? undefined : new URL(baseUrl).origin;
}

/** Builds the catalogue: configured models first, then published models of the provider. */
function buildCatalogue(id: string, baseUrl: string, entry: ProviderEntry | undefined): CatalogueEntry[] {
  const family = BUILT_IN[id] === undefined ? (entry?.baseUrl === '' ? entry.type : '') : id;
  const published = new Map(PUBLISHED.filter(({ provider }) => provider === family).map((model) => [model.modelId, model]));
  const configuredModels = (entry?.models ?? []).map((model) => mergeConfiguredModel(model, { id, baseUrl }, published.get(model.id)));
  const rest = [...published.values()].filter(({ modelId }) => !configuredModels.some((model) => model.modelId === modelId));
  return [...configuredModels, ...rest.map((model) => convertPublishedModel(model, { id, baseUrl }))];
}

interface CatalogueOwner {
  id: string;
  baseUrl: string;
}

function mergeConfiguredModel(
  model: ProviderEntry['models'][number],
  place: CatalogueOwner,
  published: Published | undefined,
): CatalogueEntry {
  const known = published === undefined ? undefined : convertPublishedModel(published, place);
  const configuredCost = omitUndefined(model.cost ?? {});
  return {
    provider: place.id,
    modelId: model.id,
    displayName: model.name ?? known?.displayName ?? model.id,
    contextWindow: model.contextWindow ?? known?.contextWindow ?? ASSUMED_CONTEXT,
    maxTokens: model.maxTokens ?? known?.maxTokens ?? ASSUMED_MAX_TOKENS,
    baseUrl: place.baseUrl,
    input: model.input,
    reasoning: model.reasoning,
    configured: true,
    ...(model.capabilityClass === undefined ? {} : { capabilityClass: model.capabilityClass }),
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...known?.cost, ...configuredCost },
    ...(known?.priceSource !== undefined && Object.keys(configuredCost).length === 0 && { priceSource: known.priceSource }),
    validated: false,
    validatedAt: null,
  };
}

function convertPublishedModel(
  { modelId, displayName, contextWindow, maxTokens, reasoning, image, cost, source }: Published,
  place: CatalogueOwner,
): CatalogueEntry {
  const [input, output, cacheRead, cacheWrite] = cost;
  return {
    provider: place.id,
    modelId,
    displayName,
    contextWindow,
    maxTokens,
    baseUrl: place.baseUrl,
    input: image ? ['text', 'image'] : ['text'],
    reasoning,
    cost: { input, output, cacheRead, cacheWrite },
    priceSource: source,
    validated: false,
    validatedAt: null,
  };
}

function omitUndefined(cost: NonNullable<ProviderEntry['models'][number]['cost']>): Partial<CatalogueEntry['cost']> {
  return Object.fromEntries(Object.entries(cost).filter(([, value]) => value !== undefined));
}
