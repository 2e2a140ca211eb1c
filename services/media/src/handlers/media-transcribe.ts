import type { Handler } from '@switchyard/bus';
import type { MediaDeps } from '../deps/media-deps.ts';
import { maxAudioBytes, transcribe } from '../transcription/transcribe.ts';
import { readAttachment } from './read-attachment.ts';

export function mediaTranscribe(deps: MediaDeps): Handler<'media.transcribe'> {
  return async ({ attachment_url: address, language }, ctx) => {
    const { bytes } = await readAttachment(deps, address, { ctx, maxBytes: maxAudioBytes(deps) });
    const { text, language: found, durationMs } = await transcribe(deps, { bytes, language }, ctx);
    return { text, language: found, durationMs };
  };
}
