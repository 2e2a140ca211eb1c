import type { ModelRequest } from './model.ts';

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

/**
 * Speaks to models over one wire: yields what comes as it comes, one piece for what came together, and returns the ending. Throws
 * what went wrong, an `UpstreamError` where the upstream or the way to it did. Leaving it leaves the upstream.
 */
export type Adapter = (attempt: Attempt) => AsyncGenerator<Piece, Ending, void>;
