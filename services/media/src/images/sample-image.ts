import type { MediaDeps } from '../deps/media-deps.ts';
import { DEV_IMAGE } from '../providers/configured-providers.ts';

const SIDE = 256;
const TIMEOUT_MS = 10_000;

/** A small image that is always the same, painted by the development model. */
export async function createSampleImage({ media }: Pick<MediaDeps, 'media'>, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const size = { width: SIDE, height: SIDE };
  const { image } = await media.generateImage({
    model: DEV_IMAGE,
    prompt: 'sample',
    ...size,
    safetyChecker: true,
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  return image;
}
