import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { prepareImage } from '../images/prepare-image.ts';
import { createSampleImage } from '../images/sample-image.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { readAttachment } from './read-attachment.ts';
import { denyByScope, describe, requireDescriber } from '../vision/describe.ts';
import { decodeImage, maxImageBytes } from './image-analyze.ts';
import { describeVideo } from './media-describe-video.ts';

/** Describes the given image, the one at the address, or a sample. */
export function mediaTestVision(deps: MediaDeps): Handler<'media.test.vision'> {
  return async ({ image, url }, ctx) => {
    const describer = await requireDescriber(deps, 'image');
    const maxBytes = maxImageBytes(deps);
    const bytes =
      image === undefined
        ? url === undefined
          ? await createSampleImage(deps, ctx.signal)
          : (await readAttachment(deps, url, { ctx, maxBytes })).bytes
        : decodeImage(image, maxBytes);
    const described =
      denyByScope(deps, ctx, describer) ?? (await describe(deps, await prepareImage(bytes, ctx.signal), { ctx, describer }));
    return { description: described.description, provider: described.provider, model: described.modelId, sizeBytes: bytes.length };
  };
}

/** No sample video is part of the product, so the address is required. */
export function mediaTestVideo(deps: MediaDeps): Handler<'media.test.video'> {
  return async ({ url }, ctx) => {
    await requireDescriber(deps, 'video');
    if (url === undefined) throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: url: expected the address of a video, got nothing');
    const { description, provider, modelId: model, sizeBytes } = await describeVideo(deps, { address: url }, ctx);
    return { description, provider, model, ...(sizeBytes === undefined ? {} : { sizeBytes }) };
  };
}
