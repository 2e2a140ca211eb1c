import type { EmbedRequest, ModelRequest } from './model.ts';

/** One attempt at one step of a turn. */
export interface Attempt {
  request: ModelRequest;
  /** Whether the upstream is asked for the answer in one piece. It may stream all the same. */
  whole: boolean;
  /** Ends the attempt; its reason is what the caller is told. */
  signal: AbortSignal;
  /** Which attempt it is; the first is 1. */
  number: number;
  /** What the upstream is told of the trace; nothing while tracing is off. */
  traceparent?: string | undefined;
  /** Called for everything that arrives, shown or not. */
  onAlive: () => void;
}

/** What may be shown as it comes. */
export interface Piece {
  type: 'text' | 'reasoning';
  text: string;
}

/** What is known once the upstream is done, in its own words. What it did not say is absent. */
export interface Ending {
  /** Its word for how it ended. Absent: it never said, so the answer is a part of one. */
  finish?: string;
  calls: readonly WrittenCall[];
  usage: CountedUsage;
}

export interface WrittenCall {
  callId: string;
  name: string;
  /** The arguments as they were written. */
  text: string;
}

export interface CountedUsage {
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  costUsd?: number;
}

/** An answer that is there, all of it. */
export interface Whole {
  text: string;
  reasoning: string;
  ending: Ending;
}

/** One attempt at turning texts into vectors. */
export type EmbedAttempt = Pick<Attempt, 'signal' | 'traceparent' | 'onAlive'> & { request: EmbedRequest };

/** Vectors in the order of the texts, each as base64 of little-endian float32. What the upstream did not say is undefined. */
export type Embed = (attempt: EmbedAttempt) => Promise<{ vectors: string[]; model: string | undefined; tokens: number | undefined }>;

/** Speaks to models over one wire. Both ways throw what went wrong, an `UpstreamError` where the upstream or the way to it did. */
export interface Adapter {
  /** Yields what comes as it comes, one piece for what came together, and returns the ending. Leaving it leaves the upstream. */
  stream(attempt: Attempt): AsyncGenerator<Piece, Ending, void>;
  /** Absent where its models make no vectors. */
  embed?: Embed;
  /** The same where nobody reads along. */
  whole(attempt: Attempt): Promise<Whole>;
}

/** An adapter that only knows how to stream. */
export function streamingAdapter(stream: Adapter['stream']): Adapter {
  return {
    stream,
    async whole(attempt) {
      const said = { text: '', reasoning: '' };
      const pieces = stream(attempt);
      try {
        for (;;) {
          const next = await pieces.next();
          attempt.onAlive();
          attempt.signal.throwIfAborted();
          if (next.done === true) return { ...said, ending: next.value };
          said[next.value.type] += next.value.text;
        }
      } finally {
        await pieces.return(undefined as never);
      }
    },
  };
}
