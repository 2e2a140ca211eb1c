import type { ProviderEntry, Sections } from '@switchyard/contracts';
import { explainBlockedHost } from '@switchyard/security';
import { PUBLISHED, type Published } from '../catalogue/2026-11.ts';
import { BUILT_IN } from '../catalogue/built-in.ts';
import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import { hasOwner, whyNotSent } from './key-origin.ts';
import type { CatalogueEntry } from '../model/model.ts';
import { RETRY } from '../errors/retry.ts';

/** One provider as configured: where it is, what opens it, what it offers. */
export interface ProviderSettings {
  id: string;
  /** What people call it; empty where its entry does not say. */
  name: string;
  /** Empty when the configuration names none; such a provider cannot answer. */
  baseUrl: string;
  /** The name of the secret with its key. Undefined: it is called without one. */
  keyName: string | undefined;
  /** The only origin that the key is sent to. Undefined for one that everybody knows the owner of: its name says where it goes. */
  keyOrigin: string | undefined;
  /** Why the key of the provider that it is named after is not sent to its own address; it is called without one. */
  keyWithheld: string | undefined;
  /** Why the key that its entry names is not sent there; such a provider cannot answer. */
  keyRefusal: string | undefined;
  /** Why it is called nowhere: its host is none of those that may be. */
  hostRefusal: string | undefined;
  /** It can be called without its key, because somebody chose its address. */
  keyOptional: boolean;
  headers: Readonly<Record<string, string>>;
  /** How long one attempt waits for the answer to begin. */
  timeoutMs: number;
  attempts: number;
  catalogue: readonly CatalogueEntry[];
  /** What it is spoken to in. */
  wire: 'chat' | 'anthropic' | 'google';
  /** Parts of names of models that are never shown what they thought before. */
  dropThinkingHints: readonly string[];
  /** Whose ways it has, where they differ from everybody's. */
  family: ProviderFamily;
  toolCallIds: Pick<Capabilities, 'transcriptToolCallIdMode' | 'transcriptToolCallIdModelHints'>;
  /** What its entry says of how its models are spoken to, by their ids. */
  ways: ReadonlyMap<string, Ways>;
}

type Capabilities = ProviderEntry['capabilities'];
export type ProviderFamily = Capabilities['providerFamily'];
/** How one model differs from what others of the same wire understand. */
export type Ways = Pick<ProviderEntry['models'][number], 'compat' | 'sdkCompat'>;

type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_TIMEOUT_MS = 120_000;
// What an entry leaves unsaid about its models: small enough to be true nearly everywhere.
const ASSUMED_CONTEXT = 32_768;
const ASSUMED_MAX_TOKENS = 4_096;

interface Surroundings {
  env: Env;
  /** Those that may be called; empty where all may. */
  hosts: readonly string[];
}

/** The providers of one revision of the configuration, those it names first. `dev` is not among them. */
export function providerSettings(providers: Sections['providers'], given: Surroundings): Map<string, ProviderSettings> {
  const all = new Map<string, ProviderSettings>();
  for (const [id, entry] of Object.entries(providers.entries)) {
    if (id !== DEV_PROVIDER && entry.enabled) all.set(id, fromEntry(id, entry, given));
  }
  for (const id of Object.keys(BUILT_IN)) {
    if (!Object.hasOwn(providers.entries, id)) all.set(id, fromEntry(id, undefined, given));
  }
  return all;
}

function fromEntry(id: string, entry: ProviderEntry | undefined, { env, hosts }: Surroundings): ProviderSettings {
  const builtIn = BUILT_IN[id];
  const ownUrl = (id === 'openai' ? env['OPENAI_BASE_URL'] : undefined) || entry?.baseUrl;
  // Only without an address of its own does an entry borrow that of its type, and with it the key that belongs there.
  const borrowed = ownUrl ? undefined : (builtIn ?? BUILT_IN[entry?.type ?? '']);
  const baseUrl = ownUrl || borrowed?.baseUrl || '';
  const named = entry?.apiKeyName || undefined;
  const keyRefusal = named === undefined ? undefined : whyNotSent(named, baseUrl, env);
  const own = (builtIn ?? borrowed)?.keyName;
  const keyWithheld = named !== undefined || own === undefined ? undefined : whyNotSent(own, baseUrl, env);
  const keyName = named ?? (keyWithheld === undefined ? own : undefined);
  return {
    id,
    name: entry?.name ?? '',
    baseUrl,
    keyName,
    keyOrigin: originOf(keyName, baseUrl),
    keyWithheld,
    keyRefusal,
    hostRefusal: explainBlockedHost(baseUrl, hosts),
    keyOptional: Boolean(ownUrl) && !entry?.apiKeyName,
    headers: entry?.headers ?? {},
    timeoutMs: entry?.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    attempts: entry === undefined ? RETRY.attempts : entry.maxRetries + 1,
    catalogue: catalogueOf(id, baseUrl, entry),
    wire: wireOf(entry?.type ?? id, baseUrl),
    dropThinkingHints: entry?.capabilities.dropThinkingBlockModelHints ?? [],
    family: familyOf(id, entry),
    toolCallIds: entry?.capabilities ?? { transcriptToolCallIdMode: 'default', transcriptToolCallIdModelHints: [] },
    ways: new Map((entry?.models ?? []).map(({ id: modelId, compat, sdkCompat }) => [modelId, { compat, sdkCompat }])),
  };
}

/** A type says the wire; the routes of chat completions that some have beside it say that they are that. */
function wireOf(type: string, baseUrl: string): ProviderSettings['wire'] {
  return (type === 'anthropic' || type === 'google') && !/\/openai\/*$/.test(baseUrl) ? type : 'chat';
}

const FAMILIES: ReadonlySet<string> = new Set<ProviderFamily>(['openai', 'anthropic', 'google']);

/** As the entry says, else that of the provider that it is, else that of its type. */
function familyOf(id: string, entry: ProviderEntry | undefined): ProviderFamily {
  const said = entry?.capabilities.providerFamily ?? 'default';
  if (said !== 'default') return said;
  return ([id, entry?.type ?? ''].find((one) => FAMILIES.has(one)) as ProviderFamily | undefined) ?? 'default';
}

/** The same with a key of that name, which has to be one that may be sent there. */
export function withKey(settings: ProviderSettings, keyName: string, env: Env): ProviderSettings {
  const keyRefusal = whyNotSent(keyName, settings.baseUrl, env);
  const keyOrigin = originOf(keyName, settings.baseUrl);
  return { ...settings, keyName, keyOrigin, keyRefusal, keyWithheld: undefined, keyOptional: false };
}

/** A key that everybody knows the owner of is bound by its name. */
function originOf(keyName: string | undefined, baseUrl: string): string | undefined {
  return keyName === undefined || hasOwner(keyName) || !URL.canParse(baseUrl) ? undefined : new URL(baseUrl).origin;
}

/** The entry's own models first, then what is published about the provider. */
function catalogueOf(id: string, baseUrl: string, entry: ProviderEntry | undefined): CatalogueEntry[] {
  const family = BUILT_IN[id] === undefined ? (entry?.baseUrl === '' ? entry.type : '') : id;
  const published = new Map(PUBLISHED.filter(({ provider }) => provider === family).map((model) => [model.modelId, model]));
  const own = (entry?.models ?? []).map((model) => fromModel(model, { id, baseUrl }, published.get(model.id)));
  const rest = [...published.values()].filter(({ modelId }) => !own.some((model) => model.modelId === modelId));
  return [...own, ...rest.map((model) => fromPublished(model, { id, baseUrl }))];
}

interface Place {
  id: string;
  baseUrl: string;
}

function fromModel(model: ProviderEntry['models'][number], place: Place, published: Published | undefined): CatalogueEntry {
  const known = published === undefined ? undefined : fromPublished(published, place);
  return {
    provider: place.id,
    modelId: model.id,
    displayName: model.name ?? known?.displayName ?? model.id,
    contextWindow: model.contextWindow ?? known?.contextWindow ?? ASSUMED_CONTEXT,
    maxTokens: model.maxTokens ?? known?.maxTokens ?? ASSUMED_MAX_TOKENS,
    baseUrl: place.baseUrl,
    input: model.input,
    reasoning: model.reasoning,
    ...(model.capabilityClass === undefined ? {} : { capabilityClass: model.capabilityClass }),
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...known?.cost, ...definedOnly(model.cost ?? {}) },
    validated: false,
    validatedAt: null,
  };
}

function fromPublished(
  { modelId, displayName, contextWindow, maxTokens, reasoning, image, cost }: Published,
  place: Place,
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
    validated: false,
    validatedAt: null,
  };
}

function definedOnly(cost: NonNullable<ProviderEntry['models'][number]['cost']>): Partial<CatalogueEntry['cost']> {
  return Object.fromEntries(Object.entries(cost).filter(([, value]) => value !== undefined));
}
