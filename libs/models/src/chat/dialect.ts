import { LRUCache } from 'lru-cache';
import type { CatalogueEntry } from '../model/model.ts';
import type { ProviderFamily, ProviderSettings, Ways } from '../providers/provider-settings.ts';
import { retentionWords, type RetentionWords } from './cache-retention.ts';
import { schemaForXai } from './tool-schema.ts';
import { createHash } from 'node:crypto';

/** How one model wants to be spoken to over the wire of chat completions. */
export interface Dialect {
  family: ProviderFamily;
  /** The name that the upstream has for the limit of an answer. */
  limitName: 'max_tokens' | 'max_completion_tokens';
  /** It may be offered tools. */
  tools: boolean;
  toolForm: ToolForm;
  /** It searches the web by itself, where it is told that it may. */
  search: boolean;
  /** Arguments of its calls come escaped as if they stood in a page. */
  entities: boolean;
  callId: (callId: string) => string;
  /** The result of a tool says its name. */
  namesResults: boolean;
  /** It says at the end of a stream what it used, when it is asked to. */
  usageInStream: boolean;
  /** It can be told how much to think. */
  effort: boolean;
  /** It can be told to keep the completion. */
  store: boolean;
  /** How it is told for how long it keeps what it read; absent where it cannot be told. */
  retentions: RetentionWords | undefined;
  /** It keeps what stands in front of marks, and nothing by itself. */
  cacheMarks: boolean;
}

export interface ToolForm {
  schema: (schema: Record<string, unknown>) => Record<string, unknown>;
  saysStrict: boolean;
}

type Family = Pick<ProviderSettings, 'family' | 'catalogue' | 'toolCallIds' | 'ways'>;
/** Of one model: what is published or said of it. */
interface Known {
  entry: Pick<CatalogueEntry, 'reasoning'> | undefined;
  ways: Ways;
}

/** Callers choose model ids, so the cache is bounded. */
const MAX_DIALECTS = 1_000;

/** The dialect of each model of a provider. */
export function createDialects(settings: Family, host: string): (modelId: string) => Dialect {
  const known = new Map(settings.catalogue.map((entry) => [entry.modelId, { entry, ways: settings.ways.get(entry.modelId) ?? {} }]));
  const cache = new LRUCache<string, Dialect>({ max: MAX_DIALECTS });
  return (modelId) => {
    const cached = cache.get(modelId);
    if (cached !== undefined) return cached;
    const dialect = dialectOf(settings, { host, modelId, ...(known.get(modelId) ?? { entry: undefined, ways: {} }) });
    cache.set(modelId, dialect);
    return dialect;
  };
}

function dialectOf(settings: Family, { host, modelId, entry, ways: { compat = {}, sdkCompat = {} } }: Known & Place): Dialect {
  const { family } = settings;
  const ownHost = host === 'api.openai.com';
  return {
    family,
    limitName: limitNameOf(sdkCompat['maxTokensField'], ownHost),
    tools: compat.supportsTools !== false,
    toolForm: toolFormOf(compat.toolSchemaProfile === 'xai', said(sdkCompat['supportsStrictMode'], true)),
    search: compat.nativeWebSearchTool === true,
    entities: compat.toolCallArgumentsEncoding === 'html-entities',
    callId: wantsStrictIds(settings.toolCallIds, modelId) ? strictCallId : asItIs,
    namesResults: said(sdkCompat['requiresToolResultName'], false),
    usageInStream: said(sdkCompat['supportsUsageInStreaming'], true),
    effort: said(sdkCompat['supportsReasoningEffort'], entry?.reasoning === true && family !== 'anthropic'),
    store: said(sdkCompat['supportsStore'], family === 'openai'),
    retentions: retentionWords(modelId, ownHost, sdkCompat['supportsLongCacheRetention']),
    cacheMarks: sdkCompat['cacheControlFormat'] === 'anthropic' || (host === 'openrouter.ai' && modelId.startsWith('anthropic/')),
  };
}

interface Place {
  host: string;
  modelId: string;
}

function said(value: unknown, usual: boolean): boolean {
  return typeof value === 'boolean' ? value : usual;
}

// The current models of OpenAI itself refuse `max_tokens`; everybody else's servers know nothing but that.
function limitNameOf(chosen: unknown, ownHost: boolean): Dialect['limitName'] {
  if (chosen === 'max_tokens' || chosen === 'max_completion_tokens') return chosen;
  return ownHost ? 'max_completion_tokens' : 'max_tokens';
}

function wantsStrictIds({ transcriptToolCallIdMode, transcriptToolCallIdModelHints }: Family['toolCallIds'], modelId: string): boolean {
  const name = modelId.toLowerCase();
  return transcriptToolCallIdMode === 'strict9' || transcriptToolCallIdModelHints.some((hint) => name.includes(hint.toLowerCase()));
}

function asItIs<T>(value: T): T {
  return value;
}

/** One object for each form there is, because lists of tools are remembered by it. */
const FORMS = [asItIs<Record<string, unknown>>, schemaForXai].map((schema) =>
  [false, true].map((saysStrict): ToolForm => ({ schema, saysStrict })),
);

function toolFormOf(xai: boolean, saysStrict: boolean): ToolForm {
  return FORMS[Number(xai)]?.[Number(saysStrict)] as ToolForm;
}

const STRICT = /^[A-Za-z0-9]{9}$/;
const DIGITS = /[^A-Za-z0-9]/g;

/**
 * The id of a call for upstreams that take nine letters and digits, and nothing else. The same id becomes the same one each time, so
 * that a result still names its call.
 */
function strictCallId(callId: string): string {
  if (STRICT.test(callId)) return callId;
  return createHash('sha256').update(callId).digest('base64').replaceAll(DIGITS, '').slice(0, 9);
}
