import type { ServiceError as GrpcError } from '@grpc/grpc-js';
import { ServiceError } from '@switchyard/contracts';
import type { BlobReading, ReadOptions } from '../store/blob-store.ts';
import { idle, left } from '../store/blob-errors.ts';
import { toError } from './grpc-errors.ts';
import type { GetResponse } from './messages.ts';
import type { Remote } from './client-stub.ts';

/** Pieces are taken from the connection as they are asked for: what is not asked for holds the other side back. */
export async function openRemoteReading(remote: Remote, id: string, options: ReadOptions): Promise<BlobReading> {
  const { stub, metadata, tenant, idleMs } = remote;
  const { offset = 0, limit = 0, signal, onEnd } = options;
  if (signal?.aborted === true) throw left();
  const call = stub.Get({ tenant, id, offset, limit }, metadata);
  let failure: ServiceError | undefined;
  let waiting = false;
  const leave = (): void => stop(left());
  signal?.addEventListener('abort', leave, { once: true });
  call.on('error', (error: GrpcError) => note(toError(error)));
  const messages = call[Symbol.asyncIterator]() as AsyncIterator<GetResponse, undefined>;

  function note(why: ServiceError): void {
    if (failure === undefined && !waiting) onEnd?.(why);
    failure ??= why;
  }

  function stop(why: ServiceError): void {
    note(why);
    call.cancel();
  }

  async function next(): Promise<GetResponse | undefined> {
    if (failure !== undefined) throw failure;
    waiting = true;
    const timer = setTimeout(() => stop(idle(`the reading of ${id}`, idleMs)), idleMs);
    try {
      const { done, value } = await messages.next();
      return done === true ? undefined : value;
    } catch (error) {
      throw failure ?? toError(error as GrpcError);
    } finally {
      clearTimeout(timer);
      waiting = false;
    }
  }

  const { ref } = (await next()) ?? {};
  if (!ref) throw new ServiceError('INTERNAL', 'The blob store began with something else than a reference.');

  async function* pieces(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (let message = await next(); message; message = await next()) {
        if (message.chunk) yield message.chunk;
      }
    } finally {
      signal?.removeEventListener('abort', leave);
      // Nobody listens any more: the other side stops, and what it still says is no news.
      call.cancel();
    }
  }

  return { ref, bytes: pieces() };
}
