import type { Answer } from '../http/payload.ts';
import type { PiecedAnswer } from './large-results.ts';
import type { Caller } from '../request/caller.ts';

/** Who asks, and under which ids the work is found again. */
export interface Origin {
  caller: Caller;
  requestId: string;
  /** What brought it, for the log. */
  route: string;
  traceparent: string | undefined;
  /** From the header of the request: the one call that it brought is made once under it. */
  idempotencyKey?: string | undefined;
  /** Sends a notification to whoever asked; only where a connection can carry one. */
  notify?: (notification: Answer) => void;
}

/** Stops waiting for an answer; nothing is answered after it. */
export type Cancel = () => void;
/** Called once; with nothing when there is nothing to say, as after a notification. */
export type OnAnswer = (answer: Answer | undefined) => void;
/** Called instead, by whoever may answer in pieces, with an answer that is too large to be held. */
export type OnPieces = (answer: PiecedAnswer) => void;
