import type { Chunk, Params, Result, ServiceError, StreamName } from '@switchyard/contracts';
import type { CallOptions, StreamSink } from './bus.ts';
import { prepareRequest, combineSignals, type Caller } from './call.ts';
import {
  cancelledError,
  internalError,
  slowReaderError,
  streamGapError,
  streamSilentError,
  deadlineExceededError,
} from '../wire/errors.ts';
import { createFrameReader, type FrameInbox } from './frame-reader.ts';
import { FRAME, SEQ } from '../wire/headers.ts';
import { collectPayload, openPayload, readPayloadRef } from '../payloads/large-payloads.ts';
import { markOutcomeUnknown } from './retry-safety.ts';
import {
  getPayloadSource,
  exceedsInlineLimit,
  readError,
  sendCancel,
  publishRequest,
  publishLargeRequest,
  type Request,
} from './request.ts';
import type { Message } from '../wire/transport.ts';
import type { BusContext } from './bus-context.ts';

/** Opens a stream. The request is sent with the first `next()`. */
export function stream<N extends StreamName>(
  context: BusContext,
  caller: Caller,
  name: N,
  input: { params: Params<N>; options: CallOptions },
): AsyncGenerator<Chunk<N>, Result<N>, void> {
  return createFrameReader<Chunk<N>, Result<N>>((inbox) => {
    const signal = combineSignals(caller, input.options);
    return startStream(context, { request: prepareRequest(context, caller, name, input), inbox, signal });
  });
}

/**
 * Same as `stream`, but delivers each frame as bytes to a sink. The returned function cancels the stream; nothing is delivered afterwards.
 */
export function streamToSink(context: BusContext, request: Request, sink: StreamSink): () => void {
  let closed = false;
  const end = (how: Uint8Array | ServiceError): void => {
    if (closed) return;
    closed = true;
    sink.end(how);
  };
  const inbox: FrameInbox = {
    chunk(data) {
      if (closed) return;
      try {
        sink.chunk(data);
      } catch (thrown) {
        cancel();
        sink.end(internalError(thrown));
      }
    },
    backlog: () => 0,
    clear: () => void (closed = true),
    // An immediate failure is delivered after this function has returned.
    end: (how) => void (isStarted ? end(how) : setImmediate(end, how)),
  };
  let isStarted = false;
  const cancel = startStream(context, { request, inbox, signal: undefined });
  isStarted = true;
  return cancel;
}

interface StreamRequest {
  request: Request;
  inbox: FrameInbox;
  signal: AbortSignal | undefined;
}

/** State of one open stream. */
interface StreamState extends StreamRequest {
  context: BusContext;
  id: number;
  nextSeq: number;
  /** By `mux.activeMs()`. */
  lastFrameAt: number;
  /** Checks periodically whether a frame has arrived. */
  silenceTimer: NodeJS.Timeout | undefined;
  /** Cancels transfers through the payload store. Created on demand, because aborting a controller costs as much as several frames. */
  closed: AbortController | undefined;
  /** Set while a check of the reader's lag is scheduled. */
  lagCheckScheduled: boolean;
  cancel: () => void;
}

/** Sends the request and supervises the stream. Returns a cancel function. */
function startStream(context: BusContext, options: StreamRequest): () => void {
  const { request, inbox, signal } = options;
  const { callable, head } = request;
  if (signal?.aborted === true) throw cancelledError(callable);
  const cancel = () => {
    inbox.clear();
    cancelStream(state, cancelledError(callable));
  };
  const state: StreamState = {
    ...options,
    context,
    id: 0,
    nextSeq: 0,
    lastFrameAt: context.mux.activeMs(),
    silenceTimer: undefined,
    closed: undefined,
    lagCheckScheduled: false,
    cancel,
  };
  state.id = context.mux.open(
    {
      onMessage: (message) => onMessage(state, message),
      onDeadline: () => void finishStream(state, markOutcomeUnknown(deadlineExceededError(callable), request)),
      onLost(error) {
        finishStream(state, markOutcomeUnknown(error, request));
        sendCancel(context, callable, state.id);
      },
    },
    head.timeoutMs,
    callable.service,
  );
  signal?.addEventListener('abort', cancel, { once: true });
  watchSilence(state);
  if (exceedsInlineLimit(context, request.params)) {
    void publishLargeRequest(context, state.id, request, getPayloadSignal(state)).then(
      (refused) => refused && finishStream(state, refused),
    );
    return cancel;
  }
  const refused = publishRequest(context, state.id, request);
  if (refused !== undefined) finishStream(state, refused);
  return cancel;
}

function onMessage(state: StreamState, message: Message): void {
  const { callable } = state.request;
  state.lastFrameAt = state.context.mux.activeMs();
  const error = readError(callable, message);
  const seq = message.header(SEQ);
  // An error before the first frame, or from another sender, has no sequence number.
  const inOrder = seq === undefined ? error !== undefined : Number(seq) === state.nextSeq++;
  if (!inOrder) return cancelStream(state, streamGapError(callable));
  if (error !== undefined) return void finishStream(state, error);
  const kind = message.header(FRAME);
  if (kind === 'chunk') acceptChunk(state, message.data);
  else if (kind === 'result') receiveResult(state, message);
}

function receiveResult(state: StreamState, message: Message): void {
  const { context, request } = state;
  const ref = readPayloadRef(message);
  if (ref === undefined) return void finishStream(state, message.data);
  const large = openPayload(getPayloadSource(context, request), ref);
  collectPayload(`The result of ${request.callable.name}`, large, context.transport.maxPayload, getPayloadSignal(state)).then(
    (data) => finishStream(state, data),
    (error: unknown) => finishStream(state, error as ServiceError),
  );
}

function getPayloadSignal(state: StreamState): AbortSignal {
  state.closed ??= new AbortController();
  return state.closed.signal;
}

/** A burst arrives before the reader can run, so a reader counts as slow only if it still lags one turn later. */
function acceptChunk(state: StreamState, data: Uint8Array): void {
  const { inbox, context, request } = state;
  const { maxBehind } = context.streams;
  inbox.chunk(data);
  if (state.lagCheckScheduled || inbox.backlog() <= maxBehind) return;
  state.lagCheckScheduled = true;
  setImmediate(() => {
    state.lagCheckScheduled = false;
    if (inbox.backlog() <= maxBehind) return;
    inbox.clear();
    cancelStream(state, slowReaderError(request.callable, maxBehind));
  });
}

function watchSilence(state: StreamState): void {
  const { streams, mux } = state.context;
  const remaining = state.lastFrameAt + streams.silenceMs - mux.activeMs();
  if (remaining > 0) state.silenceTimer = setTimeout(watchSilence, remaining, state);
  else cancelStream(state, streamSilentError(state.request.callable));
}

/** Ends the stream with an error and cancels it on the service. */
function cancelStream(state: StreamState, error: ServiceError): void {
  if (finishStream(state, markOutcomeUnknown(error, state.request))) sendCancel(state.context, state.request.callable, state.id);
}

/** Ends the stream. Returns false if it had ended before. */
function finishStream({ context, id, inbox, signal, silenceTimer, closed, cancel }: StreamState, end: Uint8Array | ServiceError): boolean {
  closed?.abort();
  clearTimeout(silenceTimer);
  signal?.removeEventListener('abort', cancel);
  inbox.end(end);
  return context.mux.close(id);
}
