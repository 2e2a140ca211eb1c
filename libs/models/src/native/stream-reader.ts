import type { CountedUsage, Ending, Delta, WrittenCall } from '../model/adapter.ts';
import type { Metadata, ReasoningBlock, ReasoningCache } from './reasoning-cache.ts';
import { toCallFields, toMessageFields } from './reasoning-fields.ts';
import type { StreamPart } from './native-apis.ts';

type Finish = Extract<StreamPart, { type: 'finish' }>;

/** An error that the provider sent inside the stream. */
export class ErrorPart extends Error {
  override readonly name = 'ErrorPart';
}

/** Maps finish reasons of the SDK to those of chat completions. */
const FINISH_REASONS: Readonly<Record<Finish['finishReason']['unified'], string | undefined>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
  interrupted: undefined,
  other: 'other',
};

/** Collects tool calls, reasoning and the ending of a stream. A class, because an instance is created for every call. */
export class StreamReader {
  readonly #calls: WrittenCall[] = [];
  readonly #signatures = new Map<string, Metadata | undefined>();
  readonly #thoughts = new Map<string, ReasoningBlock>();
  /** Set when the provider has finished. */
  ending: Ending | undefined;

  /** Reads a stream part and returns its delta, if any. Throws an ErrorPart for an error. */
  take(part: StreamPart): Delta | undefined {
    switch (part.type) {
      case 'text-delta':
        return createDelta('text', part.delta);
      case 'reasoning-start':
      case 'reasoning-end':
        this.#think(part.id, '', part.providerMetadata);
        return undefined;
      case 'reasoning-delta':
        this.#think(part.id, part.delta, part.providerMetadata);
        return createDelta('reasoning', part.delta);
      case 'tool-call':
        // Tools that the provider executes are not our calls.
        if (part.providerExecuted === true) return undefined;
        this.#calls.push({ callId: part.toolCallId, name: part.toolName, text: part.input });
        this.#signatures.set(part.toolCallId, part.providerMetadata);
        return undefined;
      case 'finish':
        this.ending = this.#buildEnding(part);
        return undefined;
      case 'error':
        throw new ErrorPart('the provider sent an error', { cause: part.error });
      default:
        return undefined;
    }
  }

  /** Saves the reasoning of tool calls, which is sent again with their results. */
  saveReasoning(cache: ReasoningCache, conversation: string): void {
    const thoughts = this.#getSignedThoughts();
    for (const [callId, metadata] of this.#signatures)
      if (thoughts.length > 0 || metadata !== undefined) cache.set(conversation, callId, { blocks: thoughts, metadata });
  }

  /** Blocks without metadata are not sent again. */
  #getSignedThoughts(): ReasoningBlock[] {
    return [...this.#thoughts.values()].filter(({ metadata }) => Object.keys(metadata).length > 0);
  }

  #buildEnding(part: Finish): Ending {
    const calls = this.#calls.map((call) => {
      const fields = toCallFields(this.#signatures.get(call.callId));
      return fields === undefined ? call : { ...call, fields };
    });
    const fields = calls.length === 0 ? undefined : toMessageFields(this.#getSignedThoughts());
    return { ...buildEnding(part, calls), ...(fields === undefined ? {} : { fields }) };
  }

  #think(id: string, text: string, metadata: Metadata = {}): void {
    const current = this.#thoughts.get(id) ?? { text: '', metadata: {} };
    this.#thoughts.set(id, { text: current.text + text, metadata: mergeMetadata(current.metadata, metadata) });
  }
}

function createDelta(type: Delta['type'], text: string): Delta | undefined {
  return text === '' ? undefined : { type, text };
}

function mergeMetadata(current: Metadata, more: Metadata): Metadata {
  return Object.fromEntries(Object.keys({ ...current, ...more }).map((wire) => [wire, { ...current[wire], ...more[wire] }]));
}

function buildEnding({ finishReason, usage }: Finish, calls: readonly WrittenCall[]): Ending {
  const { inputTokens: input, outputTokens: output } = usage;
  const counted: CountedUsage = {
    ...(input.total === undefined ? {} : { input: input.total }),
    ...(output.total === undefined ? {} : { output: output.total }),
    ...(input.cacheRead ? { cacheRead: input.cacheRead } : {}),
    ...(input.cacheWrite ? { cacheWrite: input.cacheWrite } : {}),
  };
  const finish = FINISH_REASONS[finishReason.unified];
  return { ...(finish === undefined ? {} : { finish }), calls, usage: counted };
}
