import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { DEV_SPEECH } from '../providers/configured-providers.ts';
import { decodeBase64 } from '../sources/base64.ts';
import { FILE_FORMATS } from '../speech/speech-format.ts';
import { synthesize } from '../speech/synthesize.ts';
import { transcribe } from '../transcription/transcribe.ts';

const SAMPLE_TEXT = 'One, two, three.';
const SAMPLE_TIMEOUT_MS = 10_000;

/** Transcribes the given audio, or a sample of the development model. */
export function mediaTestStt(deps: MediaDeps): Handler<'media.test.stt'> {
  return async ({ audio, language }, ctx) => {
    const bytes = audio === undefined ? await createSample(deps, ctx.signal) : decodeBase64(audio);
    if (bytes === undefined) throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: audio: expected base64, got other text');
    const { modelId: model, ...transcript } = await transcribe(deps, { bytes, language }, ctx);
    return { ...transcript, model, sizeBytes: bytes.length };
  };
}

async function createSample({ media }: MediaDeps, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const request = { model: DEV_SPEECH, text: SAMPLE_TEXT, voice: 'alloy', format: 'wav' as const, signal, timeoutMs: SAMPLE_TIMEOUT_MS };
  return (await media.synthesize(request)).audio;
}

export function mediaTestTts(deps: MediaDeps): Handler<'media.test.tts'> {
  return async ({ text, voice, provider }, ctx) => {
    const speech = await synthesize(deps, { text, voice, provider, format: undefined }, ctx);
    return {
      audio: Buffer.from(speech.audio).toString('base64'),
      mimeType: FILE_FORMATS[speech.format].mimeType,
      sizeBytes: speech.audio.length,
      provider: speech.provider,
      voice: speech.voice,
      model: speech.modelId,
    };
  };
}
