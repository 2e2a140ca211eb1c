import type { ServiceError as GrpcError } from '@grpc/grpc-js';
import { ServiceError } from '@switchyard/contracts';
import { transferCancelled, transferIdle } from '../store/blob-errors.ts';
import type { BlobReading, ReadOptions } from '../store/blob-store.ts';
import type { RemoteStore } from './client-stub.ts';
import { toServiceError } from './grpc-errors.ts';
import type { GetResponse } from './messages.ts';

/** Opens a remote blob for reading. Chunks are read from the connection on demand, which slows down the server for a slow reader. */
export async function openRemoteReader(remote: RemoteStore, id: string, options: ReadOptions): Promise<BlobReading> {
  const { stub, metadata, tenant, idleMs } = remote;
  const { offset = 0, limit = 0, signal, onEnd } = options;
  if (signal?.aborted === true) throw transferCancelled();
  const call = stub.Get({ tenant, id, offset, limit }, metadata);
  let failure: ServiceError | undefined;
  let waiting = false;
  const cancel = (): void => stop(transferCancelled());
  signal?.addEventListener('abort', cancel, { once: true });
  call.on('error', (error: GrpcError) => recordFailure(toServiceError(error)));
  const messages = call[Symbol.asyncIterator]() as AsyncIterator<GetResponse, undefined>;

  function recordFailure(reason: ServiceError): void {
    if (failure === undefined && !waiting) onEnd?.(reason);
    failure ??= reason;
  }

  function stop(reason: ServiceError): void {
    recordFailure(reason);
    call.cancel();
  }

  async function next(): Promise<GetResponse | undefined> {
    if (failure !== undefined) throw failure;
    waiting = true;
    const timer = setTimeout(() => stop(transferIdle(`read of ${id}`, idleMs)), idleMs);
    try {
      const { done, value } = await messages.next();
      return done === true ? undefined : value;
    } catch (error) {
      throw failure ?? toServiceError(error as GrpcError);
    } finally {
      clearTimeout(timer);
      waiting = false;
    }
  }

  const { ref } = (await next()) ?? {};
  if (!ref) throw new ServiceError('INTERNAL', 'The blob store sent a chunk before the reference.');

  async function* chunks(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (let message = await next(); message; message = await next()) {
        if (message.chunk) yield message.chunk;
      }
    } finally {
      signal?.removeEventListener('abort', cancel);
      // Stops the server if the caller left the loop early.
      call.cancel();
    }
  }

  return { ref, bytes: chunks() };
}
