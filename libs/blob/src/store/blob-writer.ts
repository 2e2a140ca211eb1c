import { createHash } from 'node:crypto';
import type { ServiceError } from '@switchyard/contracts';
import type { BlobBackend, BlobKey, Upload, UploadOptions } from './blob-backend.ts';
import { blobExists, blobTooLarge, transferCancelled, uploadCorrupted } from './blob-errors.ts';
import type { BlobLimits } from './blob-limits.ts';
import type { BlobWriter, TransferOptions, WriteHead } from './blob-store.ts';
import type { TransferLimiter } from './transfer-limiter.ts';
import { validateSha256 } from './validate-blob.ts';

export interface WriterDeps {
  backend: BlobBackend;
  limits: BlobLimits;
  transfers: TransferLimiter;
  now: () => number;
}

interface OpenWriterOptions extends TransferOptions {
  key: BlobKey;
  head: WriteHead;
}

/** Starts an upload. Discards it when the transfer is cancelled, idle for too long, or the store closes. */
export async function openWriter(deps: WriterDeps, { key, head, signal, onEnd }: OpenWriterOptions): Promise<BlobWriter> {
  const { backend, limits, transfers } = deps;
  const transfer = transfers.begin({ tenant: key.tenant, name: `upload of ${key.id}`, signal, onEnd: (reason) => end(reason, onEnd) });
  const hash = createHash('sha256');
  let size = 0;
  let upload: Upload | undefined;
  let endReason: ServiceError | undefined;
  let lastStep: Promise<unknown> = Promise.resolve();

  /** Runs steps in call order, also if the caller does not wait for them. Rejects after the transfer has ended. */
  function step<T>(work: () => Promise<T>): Promise<T> {
    const next = lastStep.then(async () => {
      if (endReason !== undefined) throw endReason;
      return transfer.pauseIdleTimer(work);
    });
    lastStep = next.catch(() => undefined);
    return next;
  }

  function end(reason: ServiceError, notify?: (reason: ServiceError) => void): Promise<void> {
    if (endReason === undefined) notify?.(reason);
    endReason ??= reason;
    transfer[Symbol.dispose]();
    const ended = lastStep.then(discard);
    lastStep = ended;
    return ended;
  }

  async function discard(): Promise<void> {
    const discarded = upload;
    upload = undefined;
    await discarded?.discard().catch(() => undefined);
  }

  /** Ends the transfer from within a step. */
  async function reject(reason: ServiceError): Promise<never> {
    endReason ??= reason;
    transfer[Symbol.dispose]();
    await discard();
    throw reason;
  }

  async function start(): Promise<void> {
    if ((head.size ?? 0) > limits.maxBytes) throw blobTooLarge(limits.maxBytes);
    if ((await backend.find(key)) !== undefined) throw blobExists(key.id);
    upload = await backend.upload(key, createUploadOptions(head, deps));
  }

  try {
    await step(start);
  } catch (error) {
    await end(error as ServiceError);
    throw error;
  }

  return {
    append: (bytes) =>
      step(async () => {
        if (upload === undefined) throw transferCancelled();
        if (size + bytes.length > limits.maxBytes) await reject(blobTooLarge(limits.maxBytes));
        await upload.append(bytes);
        size += bytes.length;
        hash.update(bytes);
      }),
    finish: (sha256) =>
      step(async () => {
        validateSha256(sha256);
        if (upload === undefined) throw transferCancelled();
        if (hash.digest('hex') !== sha256) return reject(uploadCorrupted());
        const ref = await upload.commit(sha256);
        upload = undefined;
        endReason = transferCancelled();
        transfer[Symbol.dispose]();
        return ref;
      }),
    abort: () => end(transferCancelled()),
  };
}

function createUploadOptions({ contentType, expiresAt = 0 }: WriteHead, { limits, now }: WriterDeps): UploadOptions {
  const requested = expiresAt === 0 ? now() + limits.ttlMs : expiresAt;
  return { contentType, expiresAt: Math.min(requested, now() + limits.maxTtlMs) };
}
