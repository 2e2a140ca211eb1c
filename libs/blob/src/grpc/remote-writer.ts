import type { BlobRef, ServiceError } from '@switchyard/contracts';
import { transferCancelled, transferIdle } from '../store/blob-errors.ts';
import { CHUNK_BYTES, type BlobWriter, type TransferOptions, type WriteHead } from '../store/blob-store.ts';
import type { RemoteStore } from './client-stub.ts';
import { toServiceError } from './grpc-errors.ts';
import type { PutRequest } from './messages.ts';

/** Starts a remote upload. Resolves after the server has accepted it. */
export async function openRemoteWriter(remote: RemoteStore, head: WriteHead, { signal, onEnd }: TransferOptions): Promise<BlobWriter> {
  const { stub, metadata, tenant, idleMs } = remote;
  if (signal?.aborted === true) throw transferCancelled();
  let waiting: PromiseWithResolvers<void> | undefined;
  let failure: ServiceError | undefined;
  let ref: BlobRef | undefined;
  const call = stub.Put(metadata, (error, response) => {
    if (error) fail(toServiceError(error));
    else ref = response?.ref;
    wake();
  });
  // The callback receives the error. A stream without a listener would throw it.
  call.on('error', () => undefined);
  call.on('metadata', wake);
  call.on('drain', wake);
  const handleAbort = (): void => cancel(transferCancelled());
  signal?.addEventListener('abort', handleAbort, { once: true });

  function fail(reason: ServiceError): void {
    if (failure === undefined && waiting === undefined) onEnd?.(reason);
    failure ??= reason;
    signal?.removeEventListener('abort', handleAbort);
  }

  function wake(): void {
    if (failure === undefined) waiting?.resolve();
    else waiting?.reject(failure);
  }

  function cancel(reason: ServiceError): void {
    if (failure !== undefined || ref !== undefined) return;
    fail(reason);
    call.cancel();
    wake();
  }

  /** Waits for an event of the server. Cancels the call after `idleMs`. */
  async function waitForServer(): Promise<void> {
    if (failure !== undefined) throw failure;
    waiting = Promise.withResolvers();
    const timer = setTimeout(() => cancel(transferIdle(`upload of ${head.id}`, idleMs)), idleMs);
    try {
      await waiting.promise;
    } finally {
      clearTimeout(timer);
      waiting = undefined;
    }
  }

  async function send(request: PutRequest): Promise<void> {
    if (failure !== undefined) throw failure;
    if (!call.write(request)) await waitForServer();
  }

  const { id, contentType, expiresAt = 0, size = 0 } = head;
  call.write({ head: { tenant, id, contentType, expiresAt, size } });
  await waitForServer();
  return {
    async append(bytes) {
      for (let start = 0; start < bytes.length; start += CHUNK_BYTES) await send({ chunk: bytes.subarray(start, start + CHUNK_BYTES) });
    },
    async finish(sha256) {
      await send({ end: { sha256 } });
      call.end();
      while (ref === undefined) await waitForServer();
      signal?.removeEventListener('abort', handleAbort);
      return ref;
    },
    async abort() {
      if (failure !== undefined || ref !== undefined) return;
      failure = transferCancelled();
      signal?.removeEventListener('abort', handleAbort);
      call.cancel();
    },
  };
}
