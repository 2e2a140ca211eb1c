import { ServiceError } from '@switchyard/contracts';
import { decodeJson } from '../wire/encoding.ts';
import { internal } from '../wire/errors.ts';

/** Chunks are moved to a new array when so many of the old one were read. */
const COMPACT_AT = 256;

/** Where frames wait until somebody asks for them. */
export interface FrameInbox {
  chunk(data: Uint8Array): void;
  /** How many chunks wait. */
  behind(): number;
  /** Forgets what waits. */
  drop(): void;
  /** With the bytes of the result, or with an error; told after the chunks that wait. Only the first end counts. */
  end(end: Uint8Array | ServiceError): void;
}

interface State<C, R> {
  readonly asking: { resolve(result: IteratorResult<C, R>): void; reject(error: Error): void }[];
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
  const state: State<C, R> = { asking: [], chunks: [], read: 0, end: undefined, over: false };
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
    inbox.drop();
    leave?.();
    settle(state);
  }

  const reader: AsyncGenerator<C, R, void> = {
    next() {
      const { promise, ...asking } = Promise.withResolvers<IteratorResult<C, R>>();
      state.asking.push(asking);
      if (leave === undefined && !state.over) begin();
      settle(state);
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
      settle(state);
    },
    behind: () => state.chunks.length - state.read,
    drop() {
      state.chunks = [];
      state.read = 0;
    },
    end(end) {
      state.end ??= end;
      settle(state);
    },
  };
}

/** Answers as many `next()` as there is something for. */
function settle<C, R>(state: State<C, R>): void {
  const { asking } = state;
  for (let first = asking[0]; first !== undefined; first = asking[0]) {
    const data = take(state);
    if (data === undefined && state.end === undefined && !state.over) return;
    asking.shift();
    try {
      first.resolve(data === undefined ? { done: true, value: last(state) } : { done: false, value: decodeJson(data) as C });
    } catch (error) {
      first.reject(error instanceof ServiceError ? error : internal(error));
    }
  }
}

function take<C, R>(state: State<C, R>): Uint8Array | undefined {
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
function last<C, R>(state: State<C, R>): R {
  const end = state.over ? undefined : state.end;
  state.over = true;
  if (end === undefined) return undefined as R;
  if (end instanceof Uint8Array) return decodeJson(end) as R;
  throw end;
}
