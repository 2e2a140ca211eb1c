import type { AgentConfig, CapabilityClass } from '@switchyard/contracts';

/** One message of a conversation, as a model reads it. */
export type ModelMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; toolCalls?: readonly ToolCall[] }
  | { role: 'tool'; callId: string; name: string; result: unknown; failed: boolean };

export interface ToolCall {
  callId: string;
  name: string;
  /** What the model gave, as JSON; the text itself where that is none, for the validation to refuse. */
  input: unknown;
  /** The same exactly as it was written: numbers keep all their digits. */
  text: string;
}

/** A tool the model may call. The parameters are JSON Schema. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  /** Whether arguments must keep to the schema. Only some models can. */
  strict?: boolean | undefined;
}

/** Whether tools may, must or must not be called, or the one that must. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

/** The answer is a JSON text, of a schema where one is given. */
export interface JsonFormat {
  schema?: Record<string, unknown> | undefined;
  name?: string | undefined;
  strict?: boolean | undefined;
}

/** What an agent wishes beside an answer, in the words of its configuration. An upstream is told what it understands of it. */
export type Wishes = Partial<
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

/** Which model of which provider answers. */
export interface ModelRef {
  provider: string;
  modelId: string;
}

/** One model call: one step of a turn. */
export interface ModelRequest {
  model: ModelRef;
  system?: string;
  messages: readonly ModelMessage[];
  tools?: readonly ToolSpec[];
  toolChoice?: ToolChoice;
  /** Texts at which the answer ends; they are not part of it. */
  stop?: readonly string[];
  format?: JsonFormat;
  temperature?: number;
  maxTokens?: number;
  wishes?: Wishes;
  /**
   * Names the conversation that this is a step of, and whose it is. What a model thought before its calls is told to it again in the same
   * conversation alone; without a name none of it is kept.
   */
  conversation?: string;
  signal: AbortSignal;
  /** How long the model may be silent before the call fails DEADLINE_EXCEEDED, reason MODEL_STALLED. */
  promptTimeoutMs: number;
  /** The span that the call belongs to. */
  traceparent?: string | undefined;
  /** The secret with the key to ask with, in place of the one that the provider's entry names. */
  keyName?: string;
  /** No more attempts than these, nor than the provider's entry allows, and these pauses between them. */
  retry?: { attempts: number; baseMs: number; maxMs: number };
}

export interface ModelUsage {
  /** Cached tokens among them. */
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
}

/**
 * Text as it comes, what came together in one part; tool calls whole; and exactly one finish at the end. A stream that ends
 * without one threw. Reasoning is what the model says to itself, where its upstream shows it.
 */
export type ModelPart =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'tool-call'; call: ToolCall }
  | {
      type: 'finish';
      reason: 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other';
      usage: ModelUsage;
      costUsd: number;
      /** Who said it, where more than one could have. */
      model?: ModelRef;
    };

/** One step that was not streamed. */
export interface ModelAnswer {
  text: string;
  reasoning: string;
  calls: ToolCall[];
  reason: Extract<ModelPart, { type: 'finish' }>['reason'];
  usage: ModelUsage;
  costUsd: number;
  /** As in the finish of a stream. */
  model?: ModelRef;
}

/** Text as it comes; gives false to leave the answer where it is. */
export type Say = (text: string, type: 'text' | 'reasoning') => boolean;

/** How an answer ended that was told piece by piece. */
export type ModelEnd = Omit<ModelAnswer, 'text' | 'reasoning'>;

/** Texts that a model turns into vectors. */
export interface EmbedRequest extends Pick<ModelRequest, 'model' | 'signal' | 'promptTimeoutMs' | 'traceparent'> {
  input: readonly string[];
  /** How many numbers a vector is to have, where the model lets one choose. */
  dimensions?: number;
}

export interface EmbedAnswer {
  /** In the order of the texts; each is base64 of little-endian float32. */
  vectors: string[];
  /** As the provider calls it. */
  model: string;
  /** As the provider counted them, else four characters each. */
  tokens: number;
  costUsd: number;
}

/** Who is meant where a name says no provider: any, or one, or nobody. */
export type DefaultEmbedder = 'any' | { provider: string } | 'none';

/** One entry of the catalogue, as `models.list` answers it. */
export interface CatalogueEntry {
  provider: string;
  modelId: string;
  displayName: string;
  contextWindow: number;
  maxTokens: number;
  baseUrl: string;
  input: ('text' | 'image')[];
  reasoning: boolean;
  /** Where its entry says one. */
  capabilityClass?: CapabilityClass;
  /** USD per million tokens. */
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
  validated: boolean;
  validatedAt: number | null;
}

/** The models this process can reach now. Every failure is a ServiceError. */
export interface Models {
  /**
   * Streams one step. Before the first part it retries 429 and 5xx within the prompt timeout, honouring Retry-After;
   * afterwards never. Fails RESOURCE_EXHAUSTED (429), UNAVAILABLE (5xx, network, STREAM_CUT), FAILED_PRECONDITION (no key),
   * DEADLINE_EXCEEDED (MODEL_STALLED), CANCELLED, NOT_FOUND (MODEL_NOT_FOUND).
   */
  stream(request: ModelRequest): AsyncGenerator<ModelPart, void, void>;
  /**
   * The same for who is told instead of asking for part after part, which costs more than reading them. Undefined where `say` left.
   */
  tell(request: ModelRequest, say: Say): Promise<ModelEnd | undefined>;
  /**
   * The same where nobody reads along. The upstream may be asked for all of it in one piece; until that is there nothing was seen
   * of it, so it is retried until then. Fails as `stream` does.
   */
  complete(request: ModelRequest): Promise<ModelAnswer>;
  /** A secret was set: no key is used again that was not asked for since. */
  forgetKeys(): void;
  /** Turns texts into vectors. Retries and fails as `stream` does. */
  embed(request: EmbedRequest): Promise<EmbedAnswer>;
  /**
   * Whom a name means that is to make vectors: an alias, `provider/model`, a bare id of the catalogue, else whatever the default
   * provider calls so. Undefined where no provider can make any.
   */
  embedder(name: string, standard: DefaultEmbedder): Promise<ModelRef | undefined>;
  /** The same object for as long as `providers`, `catalogue`, `find` and `fallback` say the same. */
  revision(): Promise<object>;
  /** Providers that can answer now: those with a key or that need none. `dev` while no other has a key, or `models.dev` is true. */
  providers(): Promise<string[]>;
  /** What is known, whether its provider can answer or not; `dev` only while it can. */
  catalogue(provider?: string): Promise<CatalogueEntry[]>;
  /** `provider/model`, a bare model id or an alias, to the model meant; undefined when nothing of that name is visible. */
  find(name: string): Promise<ModelRef | undefined>;
  /** What answers when nothing says otherwise: `models.defaultModel`, else the first keyed provider's default, else dev/echo. */
  fallback(): Promise<ModelRef>;
  /** One tiny completion, tried once. A failure is a result. */
  test(model: ModelRef): Promise<{ ok: boolean; latencyMs: number; error?: string }>;
}
