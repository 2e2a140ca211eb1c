import { INLINE_BYTES, ServiceError, callables, subjects, type Callable } from '@switchyard/contracts';
import type { Reply } from './bus.ts';
import { EMPTY, encodeText } from '../wire/encoding.ts';
import {
  busClosedError,
  busUnreachableError,
  callSilentError,
  cancelledError,
  decodeError,
  internalError,
  isHeartbeat,
  isErrorFrame,
  noRespondersError,
  paramsTooLargeError,
  deadlineExceededError,
  payloadTooLargeError,
} from '../wire/errors.ts';
import { measureHeaders, joinHeaders, formatRequestHeaders, type CallHead } from '../wire/headers.ts';
import {
  openPayload,
  storeParams,
  formatPayloadHeader,
  readPayloadRef,
  readTenant,
  type PayloadSource,
} from '../payloads/large-payloads.ts';
import { markOutcomeUnknown } from './retry-safety.ts';
import type { PendingReply } from '../wire/reply-mux.ts';
import type { Message } from '../wire/transport.ts';
import type { BusContext } from './bus-context.ts';

/** A call before it is sent. */
export interface Request {
  callable: Callable;
  params: Uint8Array;
  head: CallHead;
}

/** Returns the declaration of a method or operation. Throws if it is unknown or if this service may not call it. */
export function resolveCallable(context: BusContext, name: string): Callable {
  const callable = callables.get(name);
  if (callable === undefined) throw new ServiceError('UNIMPLEMENTED', `Unknown method ${name}.`);
  if (callable.kind === 'operation' && context.service !== undefined && !callable.callers.includes(context.service)) {
    throw new ServiceError('PERMISSION_DENIED', `The ${context.service} service may not call ${name}.`);
  }
  return callable;
}

/**
 * Publishes a request whose replies arrive for `id`. Returns a failure instead of reporting it, because the caller's callback must not run
 * before the call has returned.
 */
export function publishRequest(
  context: BusContext,
  id: number,
  { callable, params, head }: Request,
  blob?: string,
): ServiceError | undefined {
  const { transport, mux } = context;
  if (params.length > INLINE_BYTES && !callable.large.params && head.seal === undefined) return paramsTooLargeError(params.length);
  const lines = formatRequestHeaders(head, callable.deadlineMs);
  const bytes = params.length + measureHeaders(lines);
  if (bytes > transport.maxPayload) return payloadTooLargeError(`The request to ${callable.name}`, bytes, transport.maxPayload);
  const headers = blob === undefined ? lines : joinHeaders(lines, formatPayloadHeader(blob, params.length));
  const data = blob === undefined ? params : EMPTY;
  const expires = performance.now() + head.timeoutMs;
  try {
    if (transport.publish({ subject: callable.subject, data, reply: mux.formatReplySubject(id, callable.service), headers, expires }))
      return undefined;
    return mux.isShutDown() ? busClosedError() : busUnreachableError();
  } catch (error) {
    return internalError(error);
  }
}

/** Same as `publishRequest` for params in the payload store. Publishes nothing after `signal` has aborted. */
export async function publishLargeRequest(
  context: BusContext,
  id: number,
  request: Request,
  signal: AbortSignal,
): Promise<ServiceError | undefined> {
  const { transport, large } = context;
  const { callable, params, head } = request;
  if (large === undefined || !callable.large.params || params.length > transport.maxPayload) return publishRequest(context, id, request);
  const tenant = readTenant(head.principal);
  try {
    const blob = await storeParams(large, tenant, { params, timeoutMs: head.timeoutMs, signal });
    const failure = signal.aborted ? cancelledError(callable) : publishRequest(context, id, request, blob);
    if (failure !== undefined) large.forget(tenant, blob);
    return failure;
  } catch (error) {
    return error instanceof ServiceError ? error : internalError(error);
  }
}

/** Whether a payload must go through the payload store. */
export function exceedsInlineLimit({ large, inlineBytes }: BusContext, bytes: Uint8Array): boolean {
  return bytes.length > inlineBytes && large !== undefined;
}

/**
 * Sends one request for one reply. The returned function cancels the call on the service; `onReply` is not called afterwards. A call fails
 * early without heartbeats, because NATS does not report a dead process.
 */
export function sendPlainRequest(context: BusContext, request: Request, onReply: (reply: Reply) => void): () => void {
  const call = new PendingRequest(context, request, onReply);
  call.send();
  return () => call.cancel();
}

/** A class, because one instance is created per call. */
class PendingRequest implements PendingReply {
  readonly #context: BusContext;
  readonly #request: Request;
  readonly #onReply: (reply: Reply) => void;
  readonly #startedAt = performance.now();
  /** By `mux.activeMs()`. */
  #lastReplyAt: number;
  #id = 0;
  /** Cancels the upload of large params. Set during the upload only. */
  #upload: AbortController | undefined;

  constructor(context: BusContext, request: Request, onReply: (reply: Reply) => void) {
    this.#context = context;
    this.#request = request;
    this.#onReply = onReply;
    this.#lastReplyAt = context.mux.activeMs();
  }

  send(): void {
    const { mux, calls } = this.#context;
    const { head, callable } = this.#request;
    this.#id = mux.open(this, Math.min(head.timeoutMs, calls.silenceMs), callable.service);
    if (exceedsInlineLimit(this.#context, this.#request.params)) return this.#sendLarge();
    const failure = publishRequest(this.#context, this.#id, this.#request);
    if (failure !== undefined) setImmediate(() => mux.close(this.#id) && this.#onReply({ error: failure }));
  }

  #sendLarge(): void {
    const { mux } = this.#context;
    this.#upload = new AbortController();
    this.#lastReplyAt = Infinity; // no service has the call during the upload
    void publishLargeRequest(this.#context, this.#id, this.#request, this.#upload.signal).then((failure) => {
      this.#lastReplyAt = this.#context.mux.activeMs();
      if (failure !== undefined && mux.close(this.#id)) this.#onReply({ error: failure });
    });
  }

  cancel(): void {
    if (this.#context.mux.close(this.#id)) this.#cancelRemotely();
  }

  onMessage(message: Message): void {
    const { callable } = this.#request;
    if (isHeartbeat(message)) {
      this.#lastReplyAt = this.#context.mux.activeMs();
      return;
    }
    this.#context.mux.complete(this.#id);
    const error = readError(callable, message);
    if (error !== undefined) return this.#onReply({ error });
    const ref = readPayloadRef(message);
    if (ref === undefined) this.#onReply({ data: message.data });
    else this.#onReply({ large: openPayload(getPayloadSource(this.#context, this.#request), ref) });
  }

  extendMs(): number {
    const { calls, mux } = this.#context;
    const { silenceMs } = calls;
    return Math.min(this.#lastReplyAt + silenceMs - mux.activeMs(), silenceMs, this.#left());
  }

  onDeadline(): void {
    const { callable } = this.#request;
    if (this.#left() <= 0) return this.#failUnanswered(deadlineExceededError(callable));
    this.#cancelRemotely();
    this.#failUnanswered(callSilentError(callable));
  }

  onLost(error: ServiceError): void {
    this.#cancelRemotely();
    this.#failUnanswered(error);
  }

  #failUnanswered(error: ServiceError): void {
    this.#upload?.abort();
    this.#onReply({ error: markOutcomeUnknown(error, this.#request) });
  }

  #left(): number {
    return this.#startedAt + this.#request.head.timeoutMs - performance.now();
  }

  #cancelRemotely(): void {
    this.#upload?.abort();
    sendCancel(this.#context, this.#request.callable, this.#id);
  }
}

/** Describes how to fetch a large result. If it is lost, the outcome of the call is unknown. */
export function getPayloadSource({ large }: BusContext, request: Request): PayloadSource {
  return { large, tenant: readTenant(request.head.principal), failed: (error) => markOutcomeUnknown(error, request) };
}

/** Publishes a cancellation to all replicas, because the caller does not know which replica has the call. */
export function sendCancel({ transport, mux }: BusContext, { service }: Callable, id: number): void {
  transport.publish({ subject: subjects.cancel(service), data: encodeText(mux.formatReplySubject(id, service)) });
}

/** Returns the error of a reply: no service is running, or the service replied with an error. */
export function readError(callable: Callable, message: Message): ServiceError | undefined {
  if (message.status === 503) return noRespondersError(callable);
  return isErrorFrame(message) ? decodeError(message.data) : undefined;
}
