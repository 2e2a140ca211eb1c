import type { CountedUsage, Ending, Piece, WrittenCall } from '../model/adapter.ts';
import type { Metadata, Thought, Thoughts } from './reasoning-cache.ts';
import type { StreamPart } from './native-apis.ts';

type Finish = Extract<StreamPart, { type: 'finish' }>;

/** What the upstream of a library called an error, in the middle of its answer. */
export class ErrorPart extends Error {
  override readonly name = 'ErrorPart';
}

/** How the ends that have a name are called everywhere. */
const WORDS: Readonly<Record<Finish['finishReason']['unified'], string | undefined>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
  interrupted: undefined,
  other: 'other',
};

/** Gathers what an answer says besides its text. A class, because one is made for every call. */
export class StreamReader {
  readonly #calls: WrittenCall[] = [];
  readonly #signed = new Map<string, Metadata | undefined>();
  readonly #thoughts = new Map<string, Thought>();
  /** There once the upstream has said that it is done. */
  ending: Ending | undefined;

  /** Text to be shown, where the part has some. Throws an ErrorPart for one that says what went wrong. */
  take(part: StreamPart): Piece | undefined {
    switch (part.type) {
      case 'text-delta':
        return pieceOf('text', part.delta);
      case 'reasoning-start':
      case 'reasoning-end':
        this.#think(part.id, '', part.providerMetadata);
        return undefined;
      case 'reasoning-delta':
        this.#think(part.id, part.delta, part.providerMetadata);
        return pieceOf('reasoning', part.delta);
      case 'tool-call':
        // What the upstream runs itself is none of our calls.
        if (part.providerExecuted === true) return undefined;
        this.#calls.push({ callId: part.toolCallId, name: part.toolName, text: part.input });
        this.#signed.set(part.toolCallId, part.providerMetadata);
        return undefined;
      case 'finish':
        this.ending = endingOf(part, this.#calls);
        return undefined;
      case 'error':
        throw new ErrorPart('the upstream says that something went wrong', { cause: part.error });
      default:
        return undefined;
    }
  }

  /** Keeps what belongs to its calls, for when they come back to the conversation with their results. */
  remember(kept: Thoughts, conversation: string): void {
    const thoughts = [...this.#thoughts.values()].filter(({ metadata }) => Object.keys(metadata).length > 0);
    for (const [callId, metadata] of this.#signed)
      if (thoughts.length > 0 || metadata !== undefined) kept.keep(conversation, callId, { thoughts, metadata });
  }

  #think(id: string, text: string, metadata: Metadata = {}): void {
    const known = this.#thoughts.get(id) ?? { text: '', metadata: {} };
    this.#thoughts.set(id, { text: known.text + text, metadata: merged(known.metadata, metadata) });
  }
}

function pieceOf(type: Piece['type'], text: string): Piece | undefined {
  return text === '' ? undefined : { type, text };
}

function merged(known: Metadata, more: Metadata): Metadata {
  return Object.fromEntries(Object.keys({ ...known, ...more }).map((wire) => [wire, { ...known[wire], ...more[wire] }]));
}

function endingOf({ finishReason, usage }: Finish, calls: readonly WrittenCall[]): Ending {
  const { inputTokens: input, outputTokens: output } = usage;
  const counted: CountedUsage = {
    ...(input.total === undefined ? {} : { input: input.total }),
    ...(output.total === undefined ? {} : { output: output.total }),
    ...(input.cacheRead ? { cacheRead: input.cacheRead } : {}),
    ...(input.cacheWrite ? { cacheWrite: input.cacheWrite } : {}),
  };
  const finish = WORDS[finishReason.unified];
  return { ...(finish === undefined ? {} : { finish }), calls, usage: counted };
}
