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
import type { BlobStore } from '../store/blob-store.ts';
import { createGuard } from './credentials.ts';
import { toStatus } from './grpc-errors.ts';
import { readMessages } from './read-messages.ts';
import type { GetRequest, GetResponse, Named, PutRequest, PutResponse, StatusResponse } from './messages.ts';

export interface BlobServiceOptions {
  store: BlobStore;
  /** What callers must say. */
  token: string;
  log: Logger;
}

type Put = ServerReadableStream<PutRequest, PutResponse>;
type Get = ServerWritableStream<GetRequest, GetResponse>;
type Unary<Q, A> = (call: ServerUnaryCall<Q, A>, answer: sendUnaryData<A>) => void;

/** The handlers of `BlobService`, for any server. */
export function blobService({ store, token, log }: BlobServiceOptions): UntypedServiceImplementation {
  const guard = createGuard(token);

  function failure(error: unknown): ReturnType<typeof toStatus> {
    if (error instanceof ServiceError) return toStatus(error);
    log.error({ err: error }, 'a call of the blob store failed');
    return toStatus(new ServiceError('INTERNAL', 'Internal error'));
  }

  function unary<Q, A>(answerTo: (request: Q) => Promise<A>): Unary<Q, A> {
    return (call, answer) => {
      Promise.try(() => {
        guard(call.metadata);
        return answerTo(call.request);
      }).then(
        (response) => answer(null, response),
        (error: unknown) => answer(failure(error)),
      );
    };
  }

  return {
    Put(call: Put, answer: sendUnaryData<PutResponse>) {
      Promise.try(() => {
        guard(call.metadata);
        return put(store, call);
      }).then(
        (response) => answer(null, response),
        (error: unknown) => answer(failure(error)),
      );
    },
    Get(call: Get) {
      Promise.try(() => {
        guard(call.metadata);
        return get(store, call);
      }).then(
        () => call.end(),
        (error: unknown) => void call.emit('error', failure(error)),
      );
    },
    Status: unary(({ tenant, id }: Named): Promise<StatusResponse> => store.for({ tenant }).status(id)),
    Remove: unary(async ({ tenant, id }: Named): Promise<object> => {
      await store.for({ tenant }).remove(id);
      return {};
    }),
  };
}

/** Aborts when the caller leaves, or when the store ends the transfer. */
function endOf(call: Put | Get): { signal: AbortSignal; onEnd: (why: ServiceError) => void } {
  const ending = new AbortController();
  call.on('cancelled', () => ending.abort(new ServiceError('CANCELLED', 'The caller left.')));
  return { signal: ending.signal, onEnd: (why) => ending.abort(why) };
}

async function put(store: BlobStore, call: Put): Promise<PutResponse> {
  const { signal, onEnd } = endOf(call);
  const next = readMessages(call, signal);
  const { head } = (await next()) ?? {};
  if (!head) throw new ServiceError('INVALID_ARGUMENT', 'head: expected as the first message');
  const { tenant, ...said } = head;
  const writer = await store.for({ tenant }).write(said, { signal, onEnd });
  try {
    // Says that it may begin: who is refused has not sent anything yet.
    call.sendMetadata(new Metadata());
    for (let message = await next(); message; message = await next()) {
      if (message.end) return { ref: await writer.finish(message.end.sha256) };
      if (!message.chunk) throw new ServiceError('INVALID_ARGUMENT', 'part: expected a chunk or the end');
      await writer.append(message.chunk);
    }
    throw new ServiceError('FAILED_PRECONDITION', 'The write ended without its checksum; go on where its status says.', {
      details: { reason: 'CUT_OFF', retryable: true },
    });
  } finally {
    await writer.leave();
  }
}

async function get(store: BlobStore, call: Get): Promise<void> {
  const { signal, onEnd } = endOf(call);
  const { tenant, id, offset, limit } = call.request;
  const { ref, bytes } = await store.for({ tenant }).read(id, { offset, limit, signal, onEnd });
  call.write({ ref });
  for await (const chunk of bytes) {
    if (!call.write({ chunk })) await drained(call, signal);
  }
}

/** The reader has taken what was written; until then nothing more is read from the store. */
async function drained(call: Get, signal: AbortSignal): Promise<void> {
  await once(call, 'drain', { signal }).catch(() => {
    throw signal.reason;
  });
}
