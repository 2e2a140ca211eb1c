import type { Callable, Principal, ServiceError, StreamName } from '@switchyard/contracts';
import type { Histogram, Logger, Span } from '@switchyard/telemetry';
import type { StreamCtx } from '../client/bus.ts';
import { deadlineExceededError } from '../wire/errors.ts';
import { TIMEOUT } from '../wire/headers.ts';
import type { ParamsDecryption } from '../payloads/sealed-payloads.ts';
import type { EndpointStats, Message } from '../wire/transport.ts';

/** One method being served. */
export interface ServedMethod {
  readonly callable: Callable;
  readonly handler: (params: unknown, ctx: StreamCtx<StreamName>) => unknown;
  readonly stats: EndpointStats;
  /** What its calls took, by how they ended: made when one first ended so. */
  readonly durations: Map<string, Histogram>;
  readonly log: Logger;
  /** Set for methods with sealed params. */
  readonly paramsDecryption: ParamsDecryption | undefined;
}

/** One call being answered. */
export interface ActiveCall {
  readonly method: ServedMethod;
  readonly reply: string;
  readonly principal: Principal;
  readonly message: Message;
  /** Those of the message, or what it names, once they are there. */
  params: Uint8Array;
  /** Set while tracing is on. */
  readonly span: Span | undefined;
  /** By `performance.now()`. */
  readonly startedAt: number;
  /** Epoch milliseconds; 0 until somebody asks. */
  deadline: number;
  controller: AbortController | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Why it was told to stop; nothing is answered after that. */
  stopReason: ServiceError | undefined;
  /** Sends a chunk of a call that streams. Nothing goes out any more once it has ended. */
  send: ((chunk: unknown) => void) | undefined;
  /** It takes longer than a turn of the event loop. */
  tracked: boolean;
  ended: boolean;
}

/** Read from the headers when first needed: most handlers finish long before it matters. */
export function getDeadline(running: ActiveCall): number {
  if (running.deadline === 0) {
    const timeoutMs = Number(running.message.header(TIMEOUT));
    const longest = running.method.callable.deadlineMs;
    const left = (timeoutMs > 0 ? Math.min(timeoutMs, longest) : longest) - (performance.now() - running.startedAt);
    running.deadline = Date.now() + left;
  }
  return running.deadline;
}

/** Whoever looks at the signal is also stopped by the clock; for the others no timer runs. */
export function getSignal(running: ActiveCall): AbortSignal {
  if (running.controller === undefined) {
    running.controller = new AbortController();
    if (running.stopReason === undefined) watchDeadline(running);
    else running.controller.abort(running.stopReason);
  }
  return running.controller.signal;
}

function watchDeadline(running: ActiveCall): void {
  const left = Math.max(getDeadline(running) - Date.now(), 0);
  running.timer = setTimeout(() => stopCall(running, deadlineExceededError(running.method.callable)), left);
}

/** Nobody waits any more: the handler is told, and what it still answers goes nowhere. */
export function stopCall(running: ActiveCall, reason: ServiceError): void {
  if (running.stopReason !== undefined) return;
  running.stopReason = reason;
  clearTimeout(running.timer);
  running.controller?.abort(reason);
}
