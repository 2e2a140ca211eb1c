import type { Payload } from '../http/payload.ts';
import type { StreamedResult } from './large-results.ts';
import type { Caller } from '../request/caller.ts';

/** The caller of a request and its ids. */
export interface CallOrigin {
  caller: Caller;
  requestId: string;
  /** The route, for the log. */
  route: string;
  traceparent: string | undefined;
  /** The key from the header of a request with a single call. */
  idempotencyKey?: string | undefined;
  /** Sends a notification to the caller; WebSocket only. */
  notify?: (notification: Payload) => void;
}

/** Cancels a call. No response follows. */
export type Cancel = () => void;
/** Called once with the response, or with undefined after a notification. */
export type OnResponse = (answer: Payload | undefined) => void;
/** Called instead with a result that is too large to be buffered. */
export type OnStreamedResult = (answer: StreamedResult) => void;
