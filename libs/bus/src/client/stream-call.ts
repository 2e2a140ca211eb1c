import type { Chunk, Params, Result, ServiceError, StreamName } from '@switchyard/contracts';
import type { CallOptions, StreamSink } from './bus.ts';
import { prepare, signalOf, type Caller } from './call.ts';
import { cancelled, internal, slowReader, streamGap, streamSilent, timedOut } from '../wire/errors.ts';
import { createFrameReader, type FrameInbox } from './frame-reader.ts';
import { FRAME, SEQ } from '../wire/headers.ts';
import { collectLarge, openLarge, refOf } from '../payloads/large-payloads.ts';
import { mayHaveRun } from './retry-safety.ts';
import { asideOf, isLarge, readFailure, sendCancel, submit, submitLarge, type Request } from './request.ts';
import type { Message } from '../wire/transport.ts';
import type { Wire } from './bus-context.ts';

/** Nothing is sent before the first chunk is asked for. */
export function stream<N extends StreamName>(
  wire: Wire,
  caller: Caller,
  name: N,
  given: { params: Params<N>; options: CallOptions },
): AsyncGenerator<Chunk<N>, Result<N>, void> {
  return createFrameReader<Chunk<N>, Result<N>>((inbox) => {
    const signal = signalOf(caller, given.options);
    return receive(wire, { made: prepare(wire, caller, name, given), inbox, signal });
  });
}

/** The same for who takes each frame as it comes, as bytes. Returns what leaves it; nothing is called back after that. */
export function follow(wire: Wire, made: Request, sink: StreamSink): () => void {
  let over = false;
  const end = (how: Uint8Array | ServiceError): void => {
    if (over) return;
    over = true;
    sink.end(how);
  };
  const inbox: FrameInbox = {
    chunk(data) {
      if (over) return;
      try {
        sink.chunk(data);
      } catch (thrown) {
        leave();
        sink.end(internal(thrown));
      }
    },
    behind: () => 0,
    drop: () => void (over = true),
    // What fails at once is told when the call has returned.
    end: (how) => void (begun ? end(how) : setImmediate(end, how)),
  };
  let begun = false;
  const leave = receive(wire, { made, inbox, signal: undefined });
  begun = true;
  return leave;
}

interface Reception {
  made: Request;
  inbox: FrameInbox;
  signal: AbortSignal | undefined;
}

/** The frames of one call on their way to whoever reads them. */
interface Receiving extends Reception {
  wire: Wire;
  id: number;
  nextSeq: number;
  heardAt: number;
  /** Looks now and then whether anything was heard. */
  silence: NodeJS.Timeout | undefined;
  /** Ends what goes or comes beside the bus. Made where something does: aborting one costs as much as several frames. */
  over: AbortController | undefined;
  /** A look at how far the reader is behind is on its way. */
  looking: boolean;
  leave: () => void;
}

/** Sends the request and watches over what comes back. Returns what leaves the stream. */
function receive(wire: Wire, reception: Reception): () => void {
  const { made, inbox, signal } = reception;
  const { callable, head } = made;
  if (signal?.aborted === true) throw cancelled(callable);
  const leave = () => {
    inbox.drop();
    stop(receiving, cancelled(callable));
  };
  const receiving: Receiving = {
    ...reception,
    wire,
    id: 0,
    nextSeq: 0,
    heardAt: performance.now(),
    silence: undefined,
    over: undefined,
    looking: false,
    leave,
  };
  receiving.id = wire.mux.open(
    {
      onMessage: (message) => onMessage(receiving, message),
      onDeadline: () => void finish(receiving, mayHaveRun(timedOut(callable), made)),
      onLost(error) {
        finish(receiving, mayHaveRun(error, made));
        sendCancel(wire, callable, receiving.id);
      },
    },
    head.timeoutMs,
    callable.service,
  );
  signal?.addEventListener('abort', leave, { once: true });
  listen(receiving);
  if (isLarge(wire, made.params)) {
    void submitLarge(wire, receiving.id, made, besideOf(receiving)).then((refused) => refused && finish(receiving, refused));
    return leave;
  }
  const refused = submit(wire, receiving.id, made);
  if (refused !== undefined) finish(receiving, refused);
  return leave;
}

function onMessage(receiving: Receiving, message: Message): void {
  const { callable } = receiving.made;
  receiving.heardAt = performance.now();
  const error = readFailure(callable, message);
  const seq = message.header(SEQ);
  // What failed before the stream began, or was ended from outside, carries no number.
  const inOrder = seq === undefined ? error !== undefined : Number(seq) === receiving.nextSeq++;
  if (!inOrder) return stop(receiving, streamGap(callable));
  if (error !== undefined) return void finish(receiving, error);
  const kind = message.header(FRAME);
  if (kind === 'chunk') accept(receiving, message.data);
  else if (kind === 'result') receiveResult(receiving, message);
}

function receiveResult(receiving: Receiving, message: Message): void {
  const { wire, made } = receiving;
  const ref = refOf(message);
  if (ref === undefined) return void finish(receiving, message.data);
  const large = openLarge(asideOf(wire, made), ref);
  collectLarge(`The answer of ${made.callable.name}`, large, wire.transport.maxPayload, besideOf(receiving)).then(
    (data) => finish(receiving, data),
    (error: unknown) => finish(receiving, error as ServiceError),
  );
}

function besideOf(receiving: Receiving): AbortSignal {
  receiving.over ??= new AbortController();
  return receiving.over.signal;
}

/** A burst arrives before the reader gets a turn; only who is still behind after one is slow. */
function accept(receiving: Receiving, data: Uint8Array): void {
  const { inbox, wire, made } = receiving;
  const { maxBehind } = wire.streams;
  inbox.chunk(data);
  if (receiving.looking || inbox.behind() <= maxBehind) return;
  receiving.looking = true;
  setImmediate(() => {
    receiving.looking = false;
    if (inbox.behind() <= maxBehind) return;
    inbox.drop();
    stop(receiving, slowReader(made.callable, maxBehind));
  });
}

function listen(receiving: Receiving): void {
  const left = receiving.heardAt + receiving.wire.streams.silenceMs - performance.now();
  if (left > 0) receiving.silence = setTimeout(listen, left, receiving);
  else stop(receiving, streamSilent(receiving.made.callable));
}

/** Ends it here, and tells the other side that nobody reads any more. */
function stop(receiving: Receiving, error: ServiceError): void {
  if (finish(receiving, mayHaveRun(error, receiving.made))) sendCancel(receiving.wire, receiving.made.callable, receiving.id);
}

/** Whether it was still going on. */
function finish({ wire, id, inbox, signal, silence, over, leave }: Receiving, end: Uint8Array | ServiceError): boolean {
  over?.abort();
  clearTimeout(silence);
  signal?.removeEventListener('abort', leave);
  inbox.end(end);
  return wire.mux.close(id);
}
