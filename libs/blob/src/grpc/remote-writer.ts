import type { BlobRef, ServiceError } from '@switchyard/contracts';
import { CHUNK_BYTES, type BlobWriter, type TransferOptions, type WriteHead } from '../store/blob-store.ts';
import { idle, left } from '../store/blob-errors.ts';
import { toError } from './grpc-errors.ts';
import type { PutRequest } from './messages.ts';
import type { Remote } from './client-stub.ts';

/** Resolves once the other side has admitted the write. */
export async function openRemoteWriter(remote: Remote, head: WriteHead, { signal, onEnd }: TransferOptions): Promise<BlobWriter> {
  const { stub, metadata, tenant, idleMs } = remote;
  if (signal?.aborted === true) throw left();
  let waiting: PromiseWithResolvers<void> | undefined;
  let failure: ServiceError | undefined;
  let ref: BlobRef | undefined;
  const call = stub.Put(metadata, (error, response) => {
    if (error) fail(toError(error));
    else ref = response?.ref;
    settle();
  });
  // What becomes of the call is told to its callback; a stream without a listener would throw.
  call.on('error', () => undefined);
  call.on('metadata', settle);
  call.on('drain', settle);
  const leave = (): void => cancel(left());
  signal?.addEventListener('abort', leave, { once: true });

  function fail(why: ServiceError): void {
    if (failure === undefined && waiting === undefined) onEnd?.(why);
    failure ??= why;
    signal?.removeEventListener('abort', leave);
  }

  function settle(): void {
    if (failure === undefined) waiting?.resolve();
    else waiting?.reject(failure);
  }

  function cancel(why: ServiceError): void {
    if (failure !== undefined || ref !== undefined) return;
    fail(why);
    call.cancel();
    settle();
  }

  /** Until the other side moved; one that does not is given up. */
  async function moved(): Promise<void> {
    if (failure !== undefined) throw failure;
    waiting = Promise.withResolvers();
    const timer = setTimeout(() => cancel(idle(`the upload of ${head.id}`, idleMs)), idleMs);
    try {
      await waiting.promise;
    } finally {
      clearTimeout(timer);
      waiting = undefined;
    }
  }

  async function send(request: PutRequest): Promise<void> {
    if (failure !== undefined) throw failure;
    if (!call.write(request)) await moved();
  }

  const { id, contentType, offset = 0, expiresAt = 0, size = 0 } = head;
  call.write({ head: { tenant, id, contentType, offset, expiresAt, size } });
  await moved();
  return {
    async append(bytes) {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) await send({ chunk: bytes.subarray(at, at + CHUNK_BYTES) });
    },
    async finish(sha256) {
      await send({ end: { sha256 } });
      call.end();
      while (ref === undefined) await moved();
      signal?.removeEventListener('abort', leave);
      return ref;
    },
    async leave() {
      if (failure !== undefined || ref !== undefined) return;
      // Half closed, so that what is on its way is kept; the other side answers that this was not all.
      call.end();
      while (failure === undefined) await moved().catch(() => undefined);
    },
  };
}
