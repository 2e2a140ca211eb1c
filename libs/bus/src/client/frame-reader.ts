import { ServiceError } from '@switchyard/contracts';
import { decodeJson } from '../wire/encoding.ts';
import { internalError } from '../wire/errors.ts';

/** Chunks are moved to a new array when so many of the old one were read. */
const COMPACT_AT = 256;

/** Where frames wait until somebody asks for them. */
export interface FrameInbox {
  chunk(data: Uint8Array): void;
  /** How many chunks wait. */
  backlog(): number;
  /** Forgets what waits. */
  clear(): void;
  /** With the bytes of the result, or with an error; told after the chunks that wait. Only the first end counts. */
  end(end: Uint8Array | ServiceError): void;
}

interface State<C, R> {
  readonly readers: { resolve(result: IteratorResult<C, R>): void; reject(error: Error): void }[];
  chunks: Uint8Array[];
  /** How many of them were read. */
  read: number;
  end: Uint8Array | ServiceError | undefined;
  /** The end was told, or the reader left. */
  over: boolean;
}

/**
 * A generator over frames; `open` begins at the first `next()` and returns what leaves. Written by hand, because `return()` of
 * an async generator function waits for the `next()` before it: who leaves would wait for one more chunk.
 */
export function createFrameReader<C, R>(open: (inbox: FrameInbox) => () => void): AsyncGenerator<C, R, void> {
  const state: State<C, R> = { readers: [], chunks: [], read: 0, end: undefined, over: false };
  const inbox = createInbox(state);
  let leave: (() => void) | undefined;

  function begin(): void {
    try {
      leave = open(inbox);
    } catch (error) {
      leave = () => undefined;
      inbox.end(error as ServiceError);
    }
  }

  function close(): void {
    state.over = true;
    inbox.clear();
    leave?.();
    deliver(state);
  }

  const reader: AsyncGenerator<C, R, void> = {
    next() {
      const { promise, ...asking } = Promise.withResolvers<IteratorResult<C, R>>();
      state.readers.push(asking);
      if (leave === undefined && !state.over) begin();
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
      if (state.over || state.end !== undefined) return;
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

/** Answers as many `next()` as there is something for. */
function deliver<C, R>(state: State<C, R>): void {
  const { readers: asking } = state;
  for (let first = asking[0]; first !== undefined; first = asking[0]) {
    const data = takeChunk(state);
    if (data === undefined && state.end === undefined && !state.over) return;
    asking.shift();
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

/** The result or the error is told once; after that the generator is only done. */
function takeEnd<C, R>(state: State<C, R>): R {
  const end = state.over ? undefined : state.end;
  state.over = true;
  if (end === undefined) return undefined as R;
  if (end instanceof Uint8Array) return decodeJson(end) as R;
  throw end;
}
