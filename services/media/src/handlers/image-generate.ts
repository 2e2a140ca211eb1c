import type { Ctx, Handler } from '@switchyard/bus';
import { MAX, ServiceError } from '@switchyard/contracts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { findPainter } from '../providers/configured-providers.ts';
import { askInOrder } from '../providers/provider-chain.ts';
import { detectMedia } from '../transcription/detect-audio.ts';

const HOUR_MS = 3_600_000;
const MAX_SIDE = 4_096;

/** Failures are part of the result, as the interface requires. */
export function imageGenerate(deps: MediaDeps): Handler<'image.generate'> {
  return async ({ prompt, size }, ctx) => {
    try {
      if (prompt.trim() === '') return { success: false, error: 'prompt: expected a description of the image, got none' };
      return await generate(deps, { prompt, size }, ctx);
    } catch (error) {
      if (ctx.signal.aborted || !(error instanceof ServiceError)) throw error;
      deps.log.info({ err: error, requestId: ctx.requestId }, 'failed to generate an image');
      return { success: false, error: error.message.slice(0, MAX.line) };
    }
  };
}

async function generate(deps: MediaDeps, { prompt, size }: { prompt: string; size: string | undefined }, ctx: Ctx) {
  const { defaultSize, timeoutMs, safetyChecker } = deps.settings.current.imageGen;
  const pixels = parseSize(size ?? defaultSize);
  const painter = await findPainter(deps);
  await countImage(deps, ctx);
  const answer = await askInOrder('image', [painter], {
    signal: ctx.signal,
    ask: (model) => deps.media.generateImage({ model, prompt, ...pixels, safetyChecker, signal: ctx.signal, timeoutMs }),
  });
  const { kind, mimeType } = await detectMedia(answer.image);
  if (kind !== 'image') throw new ServiceError('UNAVAILABLE', `provider ${painter.provider} sent ${mimeType} instead of an image`);
  return { success: true as const, imageBase64: Buffer.from(answer.image).toString('base64'), mimeType };
}

function parseSize(size: string): { width: number; height: number } {
  const [, width = 0, height = 0] = (/^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []).map(Number);
  const isValid = [width, height].every((side) => side >= 1 && side <= MAX_SIDE);
  if (!isValid) throw new ServiceError('INVALID_ARGUMENT', `size: expected <width>x<height> of at most ${MAX_SIDE} pixels, got ${size}`);
  return { width, height };
}

/** Counts the image for its agent, over all replicas. */
async function countImage(deps: MediaDeps, { principal }: Ctx): Promise<void> {
  const max = deps.settings.current.imageGen.maxPerHour;
  const cache = await deps.cache();
  const waitMs = await cache.take(['image.generate', principal.tenant, principal.agent ?? 'default'], { max, windowMs: HOUR_MS });
  if (waitMs === 0) return;
  throw new ServiceError(
    'RESOURCE_EXHAUSTED',
    `no more than ${max} images an hour (imageGen.maxPerHour); retry in ${Math.ceil(waitMs / 60_000)} minutes`,
  );
}
