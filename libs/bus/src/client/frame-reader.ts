import { ServiceError } from '@switchyard/contracts';
import { decodeJson } from '../wire/encoding.ts';
import { internalError } from '../wire/errors.ts';

/** Number of consumed chunks after which the array is compacted. */
const COMPACT_AT = 256;

/** Buffers received frames until the reader requests them. */
export interface FrameInbox {
  chunk(data: Uint8Array): void;
  /** Number of buffered chunks. */
  backlog(): number;
  /** Drops the buffered chunks. */
  clear(): void;
  /** Ends the stream with the result or an error, after the buffered chunks. Only the first call counts. */
  end(end: Uint8Array | ServiceError): void;
}

interface State<C, R> {
  readonly readers: { resolve(result: IteratorResult<C, R>): void; reject(error: Error): void }[];
  chunks: Uint8Array[];
  /** Number of consumed chunks in `chunks`. */
  read: number;
  end: Uint8Array | ServiceError | undefined;
  /** Set when the end was delivered or the reader left. */
  closed: boolean;
}

/**
 * Creates a generator over frames. The first `next()` calls `open`, which returns a cancel function. Not an async generator function: its
 * `return()` would wait for the pending `next()`, so a reader that leaves would wait for one more chunk.
 */
export function createFrameReader<C, R>(open: (inbox: FrameInbox) => () => void): AsyncGenerator<C, R, void> {
  const state: State<C, R> = { readers: [], chunks: [], read: 0, end: undefined, closed: false };
  const inbox = createInbox(state);
  let cancel: (() => void) | undefined;

  function begin(): void {
    try {
      cancel = open(inbox);
    } catch (error) {
      cancel = () => undefined;
      inbox.end(error as ServiceError);
    }
  }

  function close(): void {
    state.closed = true;
    inbox.clear();
    cancel?.();
    deliver(state);
  }

  const reader: AsyncGenerator<C, R, void> = {
    next() {
      const { promise, ...readers } = Promise.withResolvers<IteratorResult<C, R>>();
      state.readers.push(readers);
      if (cancel === undefined && !state.closed) begin();
      deliver(state);
      return promise;
    },
    async return(value) {
      close();
      return { done: true, value: await value };
    },
    throw(error: unknown) {
      close();
      return Promise.reject(error);
    },
    async [Symbol.asyncDispose]() {
      close();
    },
    [Symbol.asyncIterator]: () => reader,
  };
  return reader;
}

function createInbox<C, R>(state: State<C, R>): FrameInbox {
  return {
    chunk(data) {
      if (state.closed || state.end !== undefined) return;
      state.chunks.push(data);
      deliver(state);
    },
    backlog: () => state.chunks.length - state.read,
    clear() {
      state.chunks = [];
      state.read = 0;
    },
    end(end) {
      state.end ??= end;
      deliver(state);
    },
  };
}

/** Resolves as many `next()` calls as there are frames. */
function deliver<C, R>(state: State<C, R>): void {
  const { readers } = state;
  for (let first = readers[0]; first !== undefined; first = readers[0]) {
    const data = takeChunk(state);
    if (data === undefined && state.end === undefined && !state.closed) return;
    readers.shift();
    try {
      first.resolve(data === undefined ? { done: true, value: takeEnd(state) } : { done: false, value: decodeJson(data) as C });
    } catch (error) {
      first.reject(error instanceof ServiceError ? error : internalError(error));
    }
  }
}

function takeChunk<C, R>(state: State<C, R>): Uint8Array | undefined {
  const data = state.chunks[state.read];
  if (data === undefined) return undefined;
  state.read++;
  if (state.read >= COMPACT_AT || state.read === state.chunks.length) {
    state.chunks = state.chunks.slice(state.read);
    state.read = 0;
  }
  return data;
}

/** Returns the result or throws the error once. Afterwards the generator is done. */
function takeEnd<C, R>(state: State<C, R>): R {
  const end = state.closed ? undefined : state.end;
  state.closed = true;
  if (end === undefined) return undefined as R;
  if (end instanceof Uint8Array) return decodeJson(end) as R;
  throw end;
}
