import type { Callable, Principal, ServiceError, StreamName } from '@switchyard/contracts';
import type { Histogram, Logger, Span } from '@switchyard/telemetry';
import type { StreamCtx } from '../client/bus.ts';
import { deadlineExceededError } from '../wire/errors.ts';
import { TIMEOUT } from '../wire/headers.ts';
import type { ParamsDecryption } from '../payloads/sealed-payloads.ts';
import type { EndpointStats, Message } from '../wire/transport.ts';

/** A served method. */
export interface ServedMethod {
  readonly callable: Callable;
  readonly handler: (params: unknown, ctx: StreamCtx<StreamName>) => unknown;
  readonly stats: EndpointStats;
  /** Duration histograms by result code, created on first use. */
  readonly durations: Map<string, Histogram>;
  readonly log: Logger;
  /** Set for methods with sealed params. */
  readonly paramsDecryption: ParamsDecryption | undefined;
}

/** A call that is being handled. */
export interface ActiveCall {
  readonly method: ServedMethod;
  readonly reply: string;
  readonly principal: Principal;
  readonly message: Message;
  /** Params of the message, or of the payload store once they are fetched. */
  params: Uint8Array;
  /** Set if tracing is on. */
  readonly span: Span | undefined;
  /** By `performance.now()`. */
  readonly startedAt: number;
  /** Epoch milliseconds; 0 until first read. */
  deadline: number;
  controller: AbortController | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Why the call was stopped. No reply is sent afterwards. */
  stopReason: ServiceError | undefined;
  /** Sends a chunk of a streaming call. Removed when the call ends. */
  send: ((chunk: unknown) => void) | undefined;
  /** Whether the call outlasts one event-loop turn. */
  tracked: boolean;
  ended: boolean;
}

/** Reads the deadline from the headers on first use, because most handlers finish without it. */
export function getDeadline(call: ActiveCall): number {
  if (call.deadline === 0) {
    const timeoutMs = Number(call.message.header(TIMEOUT));
    const longest = call.method.callable.deadlineMs;
    const remaining = (timeoutMs > 0 ? Math.min(timeoutMs, longest) : longest) - (performance.now() - call.startedAt);
    call.deadline = Date.now() + remaining;
  }
  return call.deadline;
}

/** Creates the abort signal on first use. Only calls with a signal have a deadline timer. */
export function getSignal(call: ActiveCall): AbortSignal {
  if (call.controller === undefined) {
    call.controller = new AbortController();
    if (call.stopReason === undefined) watchDeadline(call);
    else call.controller.abort(call.stopReason);
  }
  return call.controller.signal;
}

function watchDeadline(call: ActiveCall): void {
  const left = Math.max(getDeadline(call) - Date.now(), 0);
  call.timer = setTimeout(() => stopCall(call, deadlineExceededError(call.method.callable)), left);
}

/** Stops a call: aborts its signal and discards its result. */
export function stopCall(call: ActiveCall, reason: ServiceError): void {
  if (call.stopReason !== undefined) return;
  call.stopReason = reason;
  clearTimeout(call.timer);
  call.controller?.abort(reason);
}
