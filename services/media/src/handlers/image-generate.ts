import type { Handler } from '@switchyard/bus';
import { MAX, ServiceError } from '@switchyard/contracts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { readImage, type StoredImage } from '../images/generate-image.ts';
import type { PaidJobs } from '../jobs/paid-jobs.ts';

/** Failures are part of the result, as the interface requires. */
export function imageGenerate(deps: MediaDeps, jobs: PaidJobs): Handler<'image.generate'> {
  return async ({ prompt, size, idempotencyKey }, ctx) => {
    if (prompt.trim() === '') return { success: false, error: 'prompt: expected a description of the image, got none' };
    try {
      const stored = (await jobs.run(
        'image',
        { prompt, ...(size === undefined ? {} : { size }) },
        { ctx, idempotencyKey },
      )) as unknown as StoredImage;
      return { success: true, imageBase64: await readImage(deps, stored, ctx.principal), mimeType: stored.mimeType };
    } catch (error) {
      if (ctx.signal.aborted || !(error instanceof ServiceError) || error.details.reason === 'IDEMPOTENCY_MISMATCH') throw error;
      deps.log.info({ err: error, requestId: ctx.requestId }, 'failed to generate an image');
      return { success: false, error: error.message.slice(0, MAX.line) };
    }
  };
}
