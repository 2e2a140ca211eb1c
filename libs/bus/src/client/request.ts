import { INLINE_BYTES, ServiceError, callables, subjects, type Callable } from '@switchyard/contracts';
import type { Reply } from './bus.ts';
import { EMPTY, encodeText } from '../wire/encoding.ts';
import {
  busClosed,
  busUnreachable,
  callSilent,
  cancelled,
  decodeError,
  internal,
  isAlive,
  isErrorFrame,
  noResponders,
  paramsTooLarge,
  timedOut,
  tooLarge,
} from '../wire/errors.ts';
import { headerBytes, joinLines, requestLines, type CallHead } from '../wire/headers.ts';
import { openLarge, putParams, refLines, refOf, tenantOf, type Aside } from '../payloads/large-payloads.ts';
import { mayHaveRun } from './retry-safety.ts';
import type { Waiting } from '../wire/reply-mux.ts';
import type { Message } from '../wire/transport.ts';
import type { Wire } from './bus-context.ts';

/** A call before it is sent. */
export interface Request {
  callable: Callable;
  params: Uint8Array;
  head: CallHead;
}

/** The declaration behind a name, if this service may call it. */
export function resolveCallable(wire: Wire, name: string): Callable {
  const callable = callables.get(name);
  if (callable === undefined) throw new ServiceError('UNIMPLEMENTED', `There is no ${name}.`);
  if (callable.kind === 'operation' && wire.service !== undefined && !callable.callers.includes(wire.service)) {
    throw new ServiceError('PERMISSION_DENIED', `The ${wire.service} service may not call ${name}.`);
  }
  return callable;
}

/**
 * Sends a request whose replies come to `id`. A failure is returned, not reported:
 * the caller's callback must never run before the call has returned to it.
 */
export function submit(wire: Wire, id: number, { callable, params, head }: Request, blob?: string): ServiceError | undefined {
  const { transport, mux } = wire;
  if (params.length > INLINE_BYTES && !callable.large.params && head.seal === undefined) return paramsTooLarge(params.length);
  const lines = requestLines(head, callable.deadlineMs);
  const bytes = params.length + headerBytes(lines);
  if (bytes > transport.maxPayload) return tooLarge(`The request to ${callable.name}`, bytes, transport.maxPayload);
  const headers = blob === undefined ? lines : joinLines(lines, refLines(blob, params.length));
  const data = blob === undefined ? params : EMPTY;
  const expires = performance.now() + head.timeoutMs;
  try {
    if (transport.publish({ subject: callable.subject, data, reply: mux.address(id, callable.service), headers, expires }))
      return undefined;
    return mux.ended() ? busClosed() : busUnreachable();
  } catch (error) {
    return internal(error);
  }
}

/** As `submit`, for params that go beside the bus. Gives nothing to send to once `signal` has aborted: then nobody waits any more. */
export async function submitLarge(wire: Wire, id: number, made: Request, signal: AbortSignal): Promise<ServiceError | undefined> {
  const { transport, large } = wire;
  const { callable, params, head } = made;
  if (large === undefined || !callable.large.params || params.length > transport.maxPayload) return submit(wire, id, made);
  const tenant = tenantOf(head.principal);
  try {
    const blob = await putParams(large, tenant, { params, timeoutMs: head.timeoutMs, signal });
    const failure = signal.aborted ? cancelled(callable) : submit(wire, id, made, blob);
    if (failure !== undefined) large.forget(tenant, blob);
    return failure;
  } catch (error) {
    return error instanceof ServiceError ? error : internal(error);
  }
}

/** Whether params are too large for a message. */
export function isLarge({ large, inlineBytes }: Wire, bytes: Uint8Array): boolean {
  return bytes.length > inlineBytes && large !== undefined;
}

/**
 * One request, one reply. Returns a function that cancels it: the other side is told to stop, and `onReply` is not called any
 * more. A service that takes long sends signs of life; a call without one fails long before its deadline, because nobody tells that
 * the process which had it is dead.
 */
export function request(wire: Wire, made: Request, onReply: (reply: Reply) => void): () => void {
  const call = new Call(wire, made, onReply);
  call.send();
  return () => call.cancel();
}

/** A class, because one is made for every call. */
class Call implements Waiting {
  readonly #wire: Wire;
  readonly #made: Request;
  readonly #onReply: (reply: Reply) => void;
  readonly #madeAt = performance.now();
  #heardAt = this.#madeAt;
  #id = 0;
  /** Made where params are on their way beside the bus. */
  #leaving: AbortController | undefined;

  constructor(wire: Wire, made: Request, onReply: (reply: Reply) => void) {
    this.#wire = wire;
    this.#made = made;
    this.#onReply = onReply;
  }

  send(): void {
    const { mux, calls } = this.#wire;
    const { head, callable } = this.#made;
    this.#id = mux.open(this, Math.min(head.timeoutMs, calls.silenceMs), callable.service);
    if (isLarge(this.#wire, this.#made.params)) return this.#sendLarge();
    const failure = submit(this.#wire, this.#id, this.#made);
    if (failure !== undefined) setImmediate(() => mux.close(this.#id) && this.#onReply({ error: failure }));
  }

  #sendLarge(): void {
    const { mux } = this.#wire;
    this.#leaving = new AbortController();
    this.#heardAt = Infinity; // nobody has it yet who could be silent
    void submitLarge(this.#wire, this.#id, this.#made, this.#leaving.signal).then((failure) => {
      this.#heardAt = performance.now();
      if (failure !== undefined && mux.close(this.#id)) this.#onReply({ error: failure });
    });
  }

  cancel(): void {
    if (this.#wire.mux.close(this.#id)) this.#tellOtherSide();
  }

  onMessage(message: Message): void {
    const { callable } = this.#made;
    if (isAlive(message)) {
      this.#heardAt = performance.now();
      return;
    }
    this.#wire.mux.done(this.#id);
    const error = readFailure(callable, message);
    if (error !== undefined) return this.#onReply({ error });
    const ref = refOf(message);
    if (ref === undefined) this.#onReply({ data: message.data });
    else this.#onReply({ large: openLarge(asideOf(this.#wire, this.#made), ref) });
  }

  moreMs(): number {
    const { silenceMs } = this.#wire.calls;
    return Math.min(this.#heardAt + silenceMs - performance.now(), silenceMs, this.#left());
  }

  onDeadline(): void {
    const { callable } = this.#made;
    if (this.#left() <= 0) return this.#unanswered(timedOut(callable));
    this.#tellOtherSide();
    this.#unanswered(callSilent(callable));
  }

  onLost(error: ServiceError): void {
    this.#tellOtherSide();
    this.#unanswered(error);
  }

  #unanswered(error: ServiceError): void {
    this.#leaving?.abort();
    this.#onReply({ error: mayHaveRun(error, this.#made) });
  }

  #left(): number {
    return this.#madeAt + this.#made.head.timeoutMs - performance.now();
  }

  #tellOtherSide(): void {
    this.#leaving?.abort();
    sendCancel(this.#wire, this.#made.callable, this.#id);
  }
}

/** Where the answer of a request is kept that did not ride the bus. If it is lost, what was asked for may have been done. */
export function asideOf({ large }: Wire, made: Request): Aside {
  return { large, tenant: tenantOf(made.head.principal), failed: (error) => mayHaveRun(error, made) };
}

/** Sent to every replica of the service: the caller does not know which of them has the call. */
export function sendCancel({ transport, mux }: Wire, { service }: Callable, id: number): void {
  transport.publish({ subject: subjects.cancel(service), data: encodeText(mux.address(id, service)) });
}

/** What went wrong, if something did: nobody serves it, or whoever does says so. */
export function readFailure(callable: Callable, message: Message): ServiceError | undefined {
  if (message.status === 503) return noResponders(callable);
  return isErrorFrame(message) ? decodeError(message.data) : undefined;
}
