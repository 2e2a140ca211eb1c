import { createHash } from 'node:crypto';
import type { ServiceError } from '@switchyard/contracts';
import type { Backend, BlobKey, Upload, UploadFacts } from './blob-backend.ts';
import type { BlobWriter, TransferOptions, WriteHead } from './blob-store.ts';
import { checkSha256 } from './validate-blob.ts';
import { alreadyWhole, left, notWhatWasSent, tooLarge, tooMany, wrongOffset } from './blob-errors.ts';
import type { BlobLimits } from './blob-limits.ts';
import type { Transfers } from './transfer-limiter.ts';

export interface WriterDeps {
  backend: Backend;
  limits: BlobLimits;
  transfers: Transfers;
  now: () => number;
}

/** A writer that can be told to stop: by whoever takes its upload over, by a cancellation, by silence. */
export interface Writing extends BlobWriter {
  /** Resolves once it has let go of the upload. */
  end(why: ServiceError): Promise<void>;
}

/** A writer before it may write. */
export interface Opening extends Writing {
  /** Resolves once the upload is its own; `turn` resolves when whoever held it before has let go. */
  opened(turn: Promise<void>): Promise<void>;
}

interface Asked extends TransferOptions {
  key: BlobKey;
  head: WriteHead;
}

/** Takes an upload up, or begins it. */
export function openWriter(deps: WriterDeps, { key, head, signal, onEnd }: Asked): Opening {
  const { backend, limits, transfers } = deps;
  const transfer = transfers.begin({ tenant: key.tenant, what: `the upload of ${key.id}`, signal, onEnd: (why) => void end(why) });
  const hash = createHash('sha256');
  let upload: Upload | undefined;
  let stopped: ServiceError | undefined;
  let tail: Promise<unknown> = Promise.resolve();

  /** One after another, whether or not the caller waits; nothing after it was told to stop. */
  function step<T>(work: () => Promise<T>): Promise<T> {
    const next = tail.then(async () => {
      if (stopped !== undefined) throw stopped;
      return transfer.during(work);
    });
    tail = next.catch(() => undefined);
    return next;
  }

  function end(why: ServiceError): Promise<void> {
    if (stopped === undefined) onEnd?.(why);
    stopped ??= why;
    transfer[Symbol.dispose]();
    tail = tail.then(async () => {
      const held = upload;
      upload = undefined;
      await held?.release().catch(() => undefined);
    });
    return tail as Promise<void>;
  }

  /** What cannot become a blob any more does not wait to be continued. */
  async function giveUp(why: ServiceError): Promise<never> {
    const held = upload;
    upload = undefined;
    stopped ??= why;
    transfer[Symbol.dispose]();
    await held?.discard();
    throw why;
  }

  async function open(): Promise<void> {
    await admit(deps, key, head);
    upload = await backend.open(key, factsOf(head, deps));
    const { offset = 0 } = head;
    if (upload.offset !== offset) throw wrongOffset(offset, upload.offset);
    if (offset > 0) for await (const piece of upload.contents()) hash.update(piece);
  }

  return {
    end,
    async opened(turn) {
      try {
        await step(() => turn.then(open));
      } catch (error) {
        stopped ??= error as ServiceError;
        await end(stopped);
        throw error;
      }
    },
    append: (bytes) =>
      step(async () => {
        if (upload === undefined) throw left();
        if (upload.offset + bytes.length > limits.maxBytes) await giveUp(tooLarge(limits.maxBytes));
        await upload.append(bytes);
        hash.update(bytes);
      }),
    finish: (sha256) =>
      step(async () => {
        checkSha256(sha256);
        if (upload === undefined) throw left();
        if (hash.digest('hex') !== sha256) return giveUp(notWhatWasSent());
        const ref = await upload.commit(sha256);
        upload = undefined;
        transfer[Symbol.dispose]();
        stopped = left();
        return ref;
      }),
    leave() {
      stopped ??= left();
      return end(stopped);
    },
  };
}

/** What can be refused is refused before a byte is kept. */
async function admit({ backend, limits }: WriterDeps, key: BlobKey, { offset = 0, size = 0 }: WriteHead): Promise<void> {
  if (size > limits.maxBytes) throw tooLarge(limits.maxBytes);
  const found = await backend.find(key);
  if (found?.ref !== undefined) throw alreadyWhole(key.id);
  const there = found?.offset ?? 0;
  if (there !== offset) throw wrongOffset(offset, there);
  if (found === undefined && (await backend.uploads(key.tenant)) >= limits.maxUploadsPerTenant)
    throw tooMany('unfinished uploads of this tenant', limits.maxUploadsPerTenant);
}

function factsOf({ contentType, expiresAt = 0 }: WriteHead, { limits, now }: WriterDeps): UploadFacts {
  const asked = expiresAt === 0 ? now() + limits.ttlMs : expiresAt;
  return { contentType, expiresAt: Math.min(asked, now() + limits.maxTtlMs) };
}
