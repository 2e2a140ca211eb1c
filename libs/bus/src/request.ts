import { ServiceError, callables, subjects, type Callable } from '@switchyard/contracts';
import type { CallHead, Reply } from './bus.ts';
import { encodeText } from './bytes.ts';
import {
  busClosed,
  busUnreachable,
  callSilent,
  decodeError,
  internal,
  isAlive,
  isErrorFrame,
  noResponders,
  timedOut,
  tooLarge,
} from './failures.ts';
import { PRINCIPAL, REQUEST, TIMEOUT, TRACEPARENT, headerBytes, headerValue } from './headers.ts';
import type { HeaderList, Message } from './transport.ts';
import type { Wire } from './wire.ts';

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

/** Sends a request whose replies come to `id`. The failure is returned, because who waits is told later, never from inside. */
export function submit(wire: Wire, id: number, { callable, params, head }: Request): ServiceError | undefined {
  const { transport, mux } = wire;
  const headers = requestHeaders(head);
  const bytes = params.length + headerBytes(headers);
  if (bytes > transport.maxPayload) return tooLarge(`The request to ${callable.name}`, bytes, transport.maxPayload);
  const expires = Date.now() + head.timeoutMs;
  try {
    if (transport.publish({ subject: callable.subject, data: params, reply: mux.address(id), headers, expires })) return undefined;
    return mux.ended() ? busClosed() : busUnreachable();
  } catch (error) {
    return internal(error);
  }
}

function requestHeaders({ requestId, principal, timeoutMs, traceparent }: CallHead): HeaderList {
  const headers: [string, string][] = [
    [PRINCIPAL, principal],
    [TIMEOUT, String(Math.ceil(timeoutMs))],
  ];
  const id = headerValue(requestId);
  if (id !== undefined) headers.push([REQUEST, id]);
  const trace = headerValue(traceparent);
  if (trace !== undefined) headers.push([TRACEPARENT, trace]);
  return headers;
}

/**
 * One request, one reply. Returns what cancels it: the other side is told to stop, and nothing is called any more. Whoever
 * takes long says now and then that it lives; one that does not is given up long before the deadline of a turn.
 */
export function request(wire: Wire, made: Request, onReply: (reply: Reply) => void): () => void {
  const { callable, head } = made;
  const { mux, streams } = wire;
  const madeAt = performance.now();
  let heardAt = madeAt;
  const id = mux.open(
    {
      onMessage(message) {
        if (isAlive(message)) {
          heardAt = performance.now();
          return;
        }
        mux.close(id);
        onReply(readReply(callable, message));
      },
      onDeadline() {
        const now = performance.now();
        const left = madeAt + head.timeoutMs - now;
        if (left <= 0) return onReply({ error: timedOut(callable) });
        const patience = heardAt + streams.silenceMs - now;
        if (patience > 0) return Math.min(patience, left);
        sendCancel(wire, callable, id);
        onReply({ error: callSilent(callable) });
      },
      onLost(error) {
        sendCancel(wire, callable, id);
        onReply({ error });
      },
    },
    Math.min(head.timeoutMs, streams.silenceMs),
  );
  const failure = submit(wire, id, made);
  if (failure !== undefined) setImmediate(() => mux.close(id) && onReply({ error: failure }));
  return () => {
    if (mux.close(id)) sendCancel(wire, callable, id);
  };
}

/** Heard by every replica of the service, because only the network knows which of them has the call. */
export function sendCancel({ transport, mux }: Wire, { service }: Callable, id: number): void {
  transport.publish({ subject: subjects.cancel(service), data: encodeText(mux.address(id)) });
}

function readReply(callable: Callable, message: Message): Reply {
  const error = readFailure(callable, message);
  return error === undefined ? { data: message.data } : { error };
}

/** What went wrong, if something did: nobody serves it, or whoever does says so. */
export function readFailure(callable: Callable, message: Message): ServiceError | undefined {
  if (message.status === 503) return noResponders(callable);
  return isErrorFrame(message) ? decodeError(message.data) : undefined;
}
