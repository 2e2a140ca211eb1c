import type { AgentConfig, CapabilityClass, PriceSource } from '@switchyard/contracts';

/** One message of a conversation in the prompt. */
export type ModelMessage =
  | { role: 'user'; text: string; images?: MessageImages }
  | { role: 'assistant'; text: string; toolCalls?: readonly ToolCall[]; providerFields?: ProviderFields }
  | { role: 'tool'; callId: string; name: string; result: unknown; failed: boolean; images?: MessageImages };

/** Images of a message, each an https address or a data URL. A model that takes text only gets a note instead. */
export type MessageImages = readonly string[];

/**
 * Fields of a message that its provider expects back unchanged, such as `reasoning_content`. Only that provider receives them and the
 * fields of the tool calls, because other providers reject them.
 */
export interface ProviderFields {
  provider: string;
  fields: Readonly<Record<string, unknown>>;
}

export interface ToolCall {
  callId: string;
  name: string;
  /** The parsed arguments; the text itself if it is not valid JSON, which validation rejects. */
  input: unknown;
  /** The arguments exactly as generated, so that numbers keep all digits. */
  text: string;
  /** Fields of the call that its provider expects back unchanged. */
  providerFields?: Readonly<Record<string, unknown>>;
}

/** A tool the model may call. The parameters are JSON Schema. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  /** Enforces the schema for arguments. Only some models support this. */
  strict?: boolean | undefined;
}

/** Whether tools may, must or must not be called, or the tool that must be called. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

/** Requests a JSON response, optionally with a schema. */
export interface JsonFormat {
  schema?: Record<string, unknown> | undefined;
  name?: string | undefined;
  strict?: boolean | undefined;
}

/** Preferences from the agent's configuration. Each provider receives those that it supports. */
export type ModelPreferences = Partial<
  Pick<
    AgentConfig,
    | 'thinkingLevel'
    | 'fastMode'
    | 'storeCompletions'
    | 'cacheRetention'
    | 'cacheRetentionOverrides'
    | 'adaptiveCacheRetention'
    | 'cacheBreakpointStrategy'
    | 'advancedCacheOptimization'
    | 'geminiCache'
  >
> & { contextEngine?: Pick<AgentConfig['contextEngine'], 'thinkingKeepTurns' | 'replayDriftIdleMs'> };

/** A model of a provider. */
export interface ModelRef {
  provider: string;
  modelId: string;
}

/** A model call: one step of a turn. */
export interface ModelRequest {
  model: ModelRef;
  system?: string;
  messages: readonly ModelMessage[];
  tools?: readonly ToolSpec[];
  toolChoice?: ToolChoice;
  /** Stop sequences. They are not part of the response. */
  stop?: readonly string[];
  format?: JsonFormat;
  temperature?: number;
  maxTokens?: number;
  preferences?: ModelPreferences;
  /**
   * The id of the conversation and its owner. Reasoning before tool calls is cached under this id and sent again only in the same
   * conversation. Without an id it is not cached.
   */
  conversation?: string;
  signal: AbortSignal;
  /** Maximum silence of the model. After it the call fails with DEADLINE_EXCEEDED, reason MODEL_STALLED. */
  promptTimeoutMs: number;
  /** The traceparent of the parent span. */
  traceparent?: string | undefined;
  /** The name of the secret with the API key. Overrides the key of the provider. */
  keyName?: string;
  /** Retry limits. The number of attempts is also limited by the provider's settings. */
  retry?: { attempts: number; baseMs: number; maxMs: number };
}

export interface ModelUsage {
  /** Includes cached tokens. */
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
}

/**
 * A part of a streamed response: text and reasoning as received, complete tool calls, and exactly one finish at the end. A stream
 * without a finish throws.
 */
export type ModelPart =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'tool-call'; call: ToolCall }
  | {
      type: 'finish';
      reason: 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other';
      usage: ModelUsage;
      costUsd: number;
      /** The provider reported no usage; `usage` is an estimate. */
      usageEstimated?: true;
      /** The responding model, if the call could use several. */
      model?: ModelRef;
      /** Present if the provider sent fields of its own. */
      providerFields?: ProviderFields;
    };

/** The result of a non-streaming call. */
export interface ModelAnswer {
  text: string;
  reasoning: string;
  calls: ToolCall[];
  reason: Extract<ModelPart, { type: 'finish' }>['reason'];
  usage: ModelUsage;
  costUsd: number;
  /** The provider reported no usage; `usage` is an estimate. */
  usageEstimated?: true;
  /** The responding model, if the call could use several. */
  model?: ModelRef;
  /** Present if the provider sent fields of its own. */
  providerFields?: ProviderFields;
}

/** Receives streamed text. Returns false to stop the call. */
export type OnDelta = (text: string, type: 'text' | 'reasoning') => boolean;

/** The end of a response whose text was streamed to a callback. */
export type ModelEnd = Omit<ModelAnswer, 'text' | 'reasoning'>;

/** An embeddings call. */
export interface EmbedRequest extends Pick<ModelRequest, 'model' | 'signal' | 'promptTimeoutMs' | 'traceparent'> {
  /** Texts, or token ids of texts for providers that accept them. */
  input: readonly (string | number[])[];
  /** The requested vector length, if the model supports it. */
  dimensions?: number;
}

export interface EmbedAnswer {
  /** Vectors in the order of the texts, each as base64 of little-endian float32. */
  vectors: string[];
  /** The model name reported by the provider. */
  model: string;
  /** The token count reported by the provider, else estimated as four characters per token. */
  tokens: number;
  costUsd: number;
}

/** The provider for names without one: any, a specific provider, or none. */
export type DefaultEmbedder = 'any' | { provider: string } | 'none';

/** A catalogue entry, as returned by `models.list`. */
export interface CatalogueEntry {
  provider: string;
  modelId: string;
  displayName: string;
  contextWindow: number;
  maxTokens: number;
  baseUrl: string;
  input: ('text' | 'image')[];
  reasoning: boolean;
  /** Set if `providers.entries` names the model. */
  configured?: true;
  /** Set if the model is configured with a class. */
  capabilityClass?: CapabilityClass;
  /** USD per million tokens. */
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
  /** Set if the price is a list price. */
  priceSource?: PriceSource;
  validated: boolean;
  validatedAt: number | null;
}

/** The models available to this process. Every failure is a ServiceError. */
export interface Models {
  /**
   * Streams one step. Before the first part it retries 429 and 5xx within the prompt timeout, honouring Retry-After;
   * afterwards never. Fails RESOURCE_EXHAUSTED (429), UNAVAILABLE (5xx, network, STREAM_CUT), FAILED_PRECONDITION (no key),
   * DEADLINE_EXCEEDED (MODEL_STALLED), CANCELLED, NOT_FOUND (MODEL_NOT_FOUND).
   */
  stream(request: ModelRequest): AsyncGenerator<ModelPart, void, void>;
  /**
   * Streams one step to a callback, which is cheaper than a generator. Resolves to undefined if `onDelta` returned false.
   */
  streamTo(request: ModelRequest, onDelta: OnDelta): Promise<ModelEnd | undefined>;
  /**
   * Requests a complete response, non-streaming if the model is fast enough. Retries until the response is complete. Fails like
   * `stream`.
   */
  complete(request: ModelRequest): Promise<ModelAnswer>;
  /** Clears the key cache after a secret was changed. */
  clearKeyCache(): void;
  /** Embeds texts. Retries and fails like `stream`. */
  embed(request: EmbedRequest): Promise<EmbedAnswer>;
  /**
   * Resolves the name of an embedding model: an alias, `provider/model`, a bare id of the catalogue, else a model of the default
   * provider. Undefined if no available provider supports embeddings.
   */
  embedder(name: string, defaultProvider: DefaultEmbedder): Promise<ModelRef | undefined>;
  /** Returns an object that stays the same while the results of `providers`, `catalogue`, `find` and `fallback` do not change. */
  revision(): Promise<object>;
  /** Lists available providers: those with a key or without the need of one. `dev` is included if there is no other, or if `models.dev` is true. */
  providers(): Promise<string[]>;
  /** Lists known models, including those of unavailable providers. `dev` models are listed only while available. */
  catalogue(provider?: string): Promise<CatalogueEntry[]>;
  /** Resolves `provider/model`, a bare model id or an alias. Undefined if the name is unknown. */
  find(name: string): Promise<ModelRef | undefined>;
  /** Returns the default model: `models.defaultModel`, else the first model of the first available provider, else dev/echo. */
  fallback(): Promise<ModelRef>;
  /** Requests a short completion once. A failure is returned, not thrown. */
  test(model: ModelRef): Promise<{ ok: boolean; latencyMs: number; error?: string }>;
}
