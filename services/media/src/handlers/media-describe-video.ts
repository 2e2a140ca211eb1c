import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { readAttachment } from './read-attachment.ts';
import { detectMedia } from '../transcription/detect-audio.ts';
import { denyByScope, describe, requireDescriber, type Described } from '../vision/describe.ts';

export function mediaDescribeVideo(deps: MediaDeps): Handler<'media.describe_video'> {
  return async ({ attachment_url: address, prompt }, ctx) => {
    const { description, provider, modelId: model } = await describeVideo(deps, { address, prompt }, ctx);
    return { description, provider, model };
  };
}

/** Describes the video at an address. Providers, rules and size are checked before the provider is asked. */
export async function describeVideo(
  deps: MediaDeps,
  { address, prompt }: { address: string; prompt?: string | undefined },
  ctx: Ctx,
): Promise<Described & { sizeBytes?: number }> {
  const describer = await requireDescriber(deps, 'video');
  const denied = denyByScope(deps, ctx, describer);
  if (denied !== undefined) return denied;
  const { videoMaxRawBytes, videoMaxBase64Bytes } = deps.settings.current.media.vision;
  const maxBytes = Math.min(videoMaxRawBytes, Math.floor((videoMaxBase64Bytes * 3) / 4));
  const { bytes } = await readAttachment(deps, address, { ctx, maxBytes });
  const { kind, mimeType } = await detectMedia(bytes);
  if (kind !== 'video') {
    throw new ServiceError('INVALID_ARGUMENT', `expected a video, got ${mimeType}`, { details: { reason: 'NOT_A_VIDEO' } });
  }
  return { ...(await describe(deps, { kind, bytes, mimeType }, { ctx, describer, prompt })), sizeBytes: bytes.length };
}
