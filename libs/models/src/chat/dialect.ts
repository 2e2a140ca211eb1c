import { LRUCache } from 'lru-cache';
import type { CatalogueEntry } from '../model/model.ts';
import type { ProviderFamily, ProviderSettings, ModelCompat } from '../providers/provider-settings.ts';
import { getRetentionValues, type RetentionValues } from './cache-retention.ts';
import { schemaForXai } from './tool-schema.ts';
import { createHash } from 'node:crypto';

/** The variations of the chat completions API for one model. */
export interface Dialect {
  family: ProviderFamily;
  /** The field name of the output limit. */
  limitName: 'max_tokens' | 'max_completion_tokens';
  /** Whether the model accepts tools. */
  tools: boolean;
  toolFormat: ToolFormat;
  /** Whether web search is enabled in the request. */
  search: boolean;
  /** Whether tool arguments are encoded with HTML entities. */
  htmlEntities: boolean;
  callId: (callId: string) => string;
  /** Whether tool results include the tool name. */
  sendsToolResultName: boolean;
  /** Whether the provider receives its own fields of earlier messages. */
  providerFields: boolean;
  /** Whether usage can be requested in streams. */
  usageInStream: boolean;
  /** Whether the reasoning effort can be set. */
  supportsEffort: boolean;
  /** Whether completions can be stored. */
  supportsStore: boolean;
  /** Values of the cache retention field; undefined if unsupported. */
  retentionValues: RetentionValues | undefined;
  /** Whether prompt caching needs explicit marks. */
  cacheMarks: boolean;
}

export interface ToolFormat {
  schema: (schema: Record<string, unknown>) => Record<string, unknown>;
  sendsStrict: boolean;
}

type DialectSettings = Pick<ProviderSettings, 'family' | 'catalogue' | 'toolCallIds' | 'modelCompat'>;
/** Published and configured facts about one model. */
interface ModelFacts {
  entry: Pick<CatalogueEntry, 'reasoning'> | undefined;
  ways: ModelCompat;
}

/** Callers choose model ids, so the cache is bounded. */
const MAX_DIALECTS = 1_000;

/** Creates a cached lookup of the dialects of a provider's models. */
export function createDialects(settings: DialectSettings, host: string): (modelId: string) => Dialect {
  const facts = new Map(settings.catalogue.map((entry) => [entry.modelId, { entry, ways: settings.modelCompat.get(entry.modelId) ?? {} }]));
  const cache = new LRUCache<string, Dialect>({ max: MAX_DIALECTS });
  return (modelId) => {
    const cached = cache.get(modelId);
    if (cached !== undefined) return cached;
    const dialect = getDialect(settings, { host, modelId, ...(facts.get(modelId) ?? { entry: undefined, ways: {} }) });
    cache.set(modelId, dialect);
    return dialect;
  };
}

function getDialect(
  settings: DialectSettings,
  { host, modelId, entry, ways: { compat = {}, sdkCompat = {} } }: ModelFacts & ModelLocation,
): Dialect {
  const { family } = settings;
  const ownHost = host === 'api.openai.com';
  return {
    family,
    limitName: selectLimitName(sdkCompat['maxTokensField'], ownHost),
    tools: compat.supportsTools !== false,
    toolFormat: selectToolForm(compat.toolSchemaProfile === 'xai', readFlag(sdkCompat['supportsStrictMode'], true)),
    search: compat.nativeWebSearchTool === true,
    htmlEntities: compat.toolCallArgumentsEncoding === 'html-entities',
    callId: needsStrictIds(settings.toolCallIds, modelId) ? strictCallId : identity,
    sendsToolResultName: readFlag(sdkCompat['requiresToolResultName'], false),
    // OpenAI sends no such fields, and rejects those that a client got from another provider.
    providerFields: readFlag(sdkCompat['supportsProviderFields'], !ownHost),
    usageInStream: readFlag(sdkCompat['supportsUsageInStreaming'], true),
    supportsEffort: readFlag(sdkCompat['supportsReasoningEffort'], entry?.reasoning === true && family !== 'anthropic'),
    supportsStore: readFlag(sdkCompat['supportsStore'], family === 'openai'),
    retentionValues: getRetentionValues(modelId, ownHost, sdkCompat['supportsLongCacheRetention']),
    cacheMarks: sdkCompat['cacheControlFormat'] === 'anthropic' || (host === 'openrouter.ai' && modelId.startsWith('anthropic/')),
  };
}

interface ModelLocation {
  host: string;
  modelId: string;
}

function readFlag(value: unknown, defaultValue: boolean): boolean {
  return typeof value === 'boolean' ? value : defaultValue;
}

// Current OpenAI models reject `max_tokens`. Other servers only support `max_tokens`.
function selectLimitName(chosen: unknown, ownHost: boolean): Dialect['limitName'] {
  if (chosen === 'max_tokens' || chosen === 'max_completion_tokens') return chosen;
  return ownHost ? 'max_completion_tokens' : 'max_tokens';
}

function needsStrictIds(
  { transcriptToolCallIdMode, transcriptToolCallIdModelHints }: DialectSettings['toolCallIds'],
  modelId: string,
): boolean {
  const name = modelId.toLowerCase();
  return transcriptToolCallIdMode === 'strict9' || transcriptToolCallIdModelHints.some((hint) => name.includes(hint.toLowerCase()));
}

function identity<T>(value: T): T {
  return value;
}

/** One object per format, because rendered tools are cached by it. */
const FORMS = [identity<Record<string, unknown>>, schemaForXai].map((schema) =>
  [false, true].map((saysStrict): ToolFormat => ({ schema, sendsStrict: saysStrict })),
);

function selectToolForm(xai: boolean, saysStrict: boolean): ToolFormat {
  return FORMS[Number(xai)]?.[Number(saysStrict)] as ToolFormat;
}

const STRICT = /^[A-Za-z0-9]{9}$/;
const DIGITS = /[^A-Za-z0-9]/g;

/**
 * Converts a call id for providers that require nine letters and digits. The conversion is deterministic, so that results match their
 * calls.
 */
function strictCallId(callId: string): string {
  if (STRICT.test(callId)) return callId;
  return createHash('sha256').update(callId).digest('base64').replaceAll(DIGITS, '').slice(0, 9);
}
