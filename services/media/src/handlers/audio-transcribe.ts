import type { Handler } from '@switchyard/bus';
import { MAX, ServiceError } from '@switchyard/contracts';
import { decodeBase64 } from '../sources/base64.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { transcribe } from '../transcription/transcribe.ts';

/** The failure of a transcription is part of the result, as the interface requires. */
export function audioTranscribe(deps: MediaDeps): Handler<'audio.transcribe'> {
  return async ({ audio, language }, ctx) => {
    const bytes = decodeBase64(audio);
    if (bytes === undefined) return { error: 'audio: expected base64, standard or URL-safe' };
    try {
      const { text, language: found, durationMs } = await transcribe(deps, { bytes, language }, ctx);
      return { text, language: found, durationMs };
    } catch (error) {
      if (ctx.signal.aborted || !(error instanceof ServiceError)) throw error;
      deps.log.info({ err: error, requestId: ctx.requestId }, 'failed to transcribe audio');
      return { error: error.message.slice(0, MAX.line) };
    }
  };
}
