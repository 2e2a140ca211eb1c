import { once } from 'node:events';
import {
  Metadata,
  type sendUnaryData,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { BlobStore, KeptBlob } from '../store/blob-store.ts';
import { createTokenGuard } from './credentials.ts';
import { toStatus } from './grpc-errors.ts';
import type {
  BlobName,
  GetRequest,
  GetResponse,
  KeepRequest,
  KeepResponse,
  KeptMessage,
  ListKeptRequest,
  ListKeptResponse,
  PutRequest,
  PutResponse,
  ReleaseRequest,
  StatusResponse,
} from './messages.ts';

export interface BlobServiceOptions {
  store: BlobStore;
  /** The token that callers must send. */
  token: string;
  log: Logger;
}

type PutCall = ServerReadableStream<PutRequest, PutResponse>;
type GetCall = ServerWritableStream<GetRequest, GetResponse>;
type UnaryHandler<Q, A> = (call: ServerUnaryCall<Q, A>, respond: sendUnaryData<A>) => void;

/** Creates the handlers of `BlobService` for a gRPC server. */
export function createBlobService({ store, token, log }: BlobServiceOptions): UntypedServiceImplementation {
  const guard = createTokenGuard(token);

  function toFailure(error: unknown): ReturnType<typeof toStatus> {
    if (error instanceof ServiceError) return toStatus(error);
    log.error({ err: error }, 'blob store call failed');
    return toStatus(new ServiceError('INTERNAL', 'Internal error'));
  }

  function unary<Q, A>(handle: (request: Q) => Promise<A>): UnaryHandler<Q, A> {
    return (call, respond) => {
      Promise.try(() => {
        guard(call.metadata);
        return handle(call.request);
      }).then(
        (response) => respond(null, response),
        (error: unknown) => respond(toFailure(error)),
      );
    };
  }

  return {
    Put(call: PutCall, respond: sendUnaryData<PutResponse>) {
      Promise.try(() => {
        guard(call.metadata);
        return put(store, call);
      }).then(
        (response) => respond(null, response),
        (error: unknown) => respond(toFailure(error)),
      );
    },
    Get(call: GetCall) {
      Promise.try(() => {
        guard(call.metadata);
        return get(store, call);
      }).then(
        () => call.end(),
        (error: unknown) => void call.emit('error', toFailure(error)),
      );
    },
    Status: unary(async ({ tenant, id }: BlobName): Promise<StatusResponse> => ({ ref: await store.for({ tenant }).status(id) })),
    Remove: unary(async ({ tenant, id }: BlobName): Promise<object> => {
      await store.for({ tenant }).remove(id);
      return {};
    }),
    Keep: unary(async ({ tenant, id, owner, expiresAt }: KeepRequest): Promise<KeepResponse> => {
      const options = expiresAt === 0 ? { owner } : { owner, expiresAt };
      return { blob: toMessage(await store.for({ tenant }).keep(id, options)) };
    }),
    Release: unary(async ({ tenant, id, owner }: ReleaseRequest): Promise<object> => {
      await store.for({ tenant }).release(id, owner);
      return {};
    }),
    ListKept: unary(async ({ tenant, ...options }: ListKeptRequest): Promise<ListKeptResponse> => {
      return { blobs: (await store.for({ tenant }).listKept(options)).map(toMessage) };
    }),
    Usage: unary(({ tenant }: { tenant: string }) => store.for({ tenant }).usage()),
  };
}

function toMessage({ owner, ...ref }: KeptBlob): KeptMessage {
  return { ref, owner };
}

/** The signal aborts when the client cancels the call, or when the store ends the transfer. */
function createCallOptions(call: PutCall | GetCall): { signal: AbortSignal; onEnd: (reason: ServiceError) => void } {
  const controller = new AbortController();
  call.on('cancelled', () => controller.abort(new ServiceError('CANCELLED', 'The client cancelled the call.')));
  return { signal: controller.signal, onEnd: (reason) => controller.abort(reason) };
}

async function put(store: BlobStore, call: PutCall): Promise<PutResponse> {
  const { signal, onEnd } = createCallOptions(call);
  const next = createMessageReader(call, signal);
  const { head } = (await next()) ?? {};
  if (!head) throw new ServiceError('INVALID_ARGUMENT', 'head: expected as the first message');
  const { tenant, ...writeHead } = head;
  const writer = await store.for({ tenant }).write(writeHead, { signal, onEnd });
  try {
    // The client sends its first chunk after it receives the metadata, so a rejected upload sends nothing.
    call.sendMetadata(new Metadata());
    for (let message = await next(); message; message = await next()) {
      if (message.end) return { ref: await writer.finish(message.end.sha256) };
      if (!message.chunk) throw new ServiceError('INVALID_ARGUMENT', 'part: expected a chunk or the end');
      await writer.append(message.chunk);
    }
    throw new ServiceError('FAILED_PRECONDITION', 'The upload ended without its checksum; send it again.', {
      details: { reason: 'CUT_OFF', retryable: true },
    });
  } finally {
    await writer.abort();
  }
}

async function get(store: BlobStore, call: GetCall): Promise<void> {
  const { signal, onEnd } = createCallOptions(call);
  const { tenant, id, offset, limit } = call.request;
  const { ref, bytes } = await store.for({ tenant }).read(id, { offset, limit, signal, onEnd });
  call.write({ ref });
  for await (const chunk of bytes) {
    if (!call.write({ chunk })) await waitForDrain(call, signal);
  }
}

async function waitForDrain(call: GetCall, signal: AbortSignal): Promise<void> {
  await once(call, 'drain', { signal }).catch(() => {
    throw signal.reason;
  });
}

/** The idle timer of the transfer starts with the first message, which has this limit of its own. */
const FIRST_MESSAGE_TIMEOUT_MS = 10_000;

/** Returns a function that reads the next message, or undefined at the end of the stream. It rejects when the signal aborts. */
function createMessageReader<T>(stream: AsyncIterable<T>, signal: AbortSignal): () => Promise<T | undefined> {
  const iterator = stream[Symbol.asyncIterator]();
  let rejectRead: ((reason: unknown) => void) | undefined;
  let stopReason: unknown;

  function stop(reason: unknown): void {
    stopReason ??= reason;
    rejectRead?.(stopReason);
  }

  signal.addEventListener('abort', () => stop(signal.reason), { once: true });
  const timer = setTimeout(
    () => stop(new ServiceError('DEADLINE_EXCEEDED', 'The first message did not arrive in time.')),
    FIRST_MESSAGE_TIMEOUT_MS,
  );

  // `Promise.race` with one long-lived promise would keep a reference to every message.
  return () =>
    new Promise((resolve, reject) => {
      if (signal.aborted) stop(signal.reason);
      if (stopReason !== undefined) return reject(stopReason);
      rejectRead = reject;
      iterator.next().then(({ done, value }: IteratorResult<T, undefined>) => {
        clearTimeout(timer);
        resolve(done === true ? undefined : value);
      }, reject);
    });
}
