import { createSource, putBlob, readBlob } from '@switchyard/blob';
import { ServiceError, type Principal } from '@switchyard/contracts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { findPainter } from '../providers/configured-providers.ts';
import { askInOrder } from '../providers/provider-chain.ts';
import { callRecorded, readUsage } from '../providers/record-usage.ts';
import { detectMedia } from '../transcription/detect-audio.ts';

const HOUR_MS = 3_600_000;
/** An image is kept as long as the idempotency key of its call. */
const LIFETIME_MS = 24 * HOUR_MS;
const MAX_SIDE = 4_096;

export interface GenerateImageOptions {
  blobId: string;
  principal: Principal;
  signal: AbortSignal;
}

export interface StoredImage {
  blobId: string;
  mimeType: string;
}

/** Generates an image within the hourly limit of its agent and stores it. */
export async function generateImage(
  deps: MediaDeps,
  { prompt, size }: { prompt: string; size?: string | undefined },
  { blobId, principal, signal }: GenerateImageOptions,
): Promise<StoredImage> {
  const { defaultSize, timeoutMs, safetyChecker } = deps.settings.current.imageGen;
  const pixels = parseSize(size ?? defaultSize);
  const painter = await findPainter(deps);
  await countImage(deps, principal);
  const { image } = await askInOrder('image', [painter], {
    signal,
    ask: (model) => {
      const call = () => deps.media.generateImage({ model, prompt, ...pixels, safetyChecker, signal, timeoutMs });
      return callRecorded(deps.usage, { purpose: 'image', model, principal, call, readUsage });
    },
  });
  const { kind, mimeType } = await detectMedia(image);
  if (kind !== 'image') throw new ServiceError('UNAVAILABLE', `provider ${painter.provider} sent ${mimeType} instead of an image`);
  const blobs = (await deps.blobs()).for(principal);
  await putBlob(blobs, createSource(image), { id: blobId, contentType: mimeType, expiresAt: deps.now() + LIFETIME_MS, size: image.length });
  return { blobId, mimeType };
}

/** Reads a generated image as base64. */
export async function readImage(deps: MediaDeps, { blobId }: StoredImage, principal: Principal): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await readBlob((await deps.blobs()).for(principal), blobId)).bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString('base64');
}

function parseSize(size: string): { width: number; height: number } {
  const [, width = 0, height = 0] = (/^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []).map(Number);
  const isValid = [width, height].every((side) => side >= 1 && side <= MAX_SIDE);
  if (!isValid) throw new ServiceError('INVALID_ARGUMENT', `size: expected <width>x<height> of at most ${MAX_SIDE} pixels, got ${size}`);
  return { width, height };
}

/** Counts the image for its agent, over all replicas. */
async function countImage(deps: MediaDeps, principal: Principal): Promise<void> {
  const max = deps.settings.current.imageGen.maxPerHour;
  const cache = await deps.cache();
  const waitMs = await cache.take(['image.generate', principal.tenant, principal.agent ?? 'default'], { max, windowMs: HOUR_MS });
  if (waitMs === 0) return;
  const minutes = Math.ceil(waitMs / 60_000);
  throw new ServiceError('RESOURCE_EXHAUSTED', `no more than ${max} images an hour (imageGen.maxPerHour); retry in ${minutes} minutes`);
}
