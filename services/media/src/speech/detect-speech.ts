import { ServiceError } from '@switchyard/contracts';
import type { SpeechFormat } from '@switchyard/models';
import { detectMedia } from '../transcription/detect-audio.ts';
import type { Speech } from './convert-speech.ts';

const FORMATS: Readonly<Record<string, SpeechFormat>> = {
  'audio/ogg; codecs=opus': 'opus',
  'audio/ogg': 'opus',
  'audio/mpeg': 'mp3',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/wav': 'wav',
  'audio/vnd.wave': 'wav',
};
/** Samples without a header are recognised by not being text. */
const TEXT_HEAD_BYTES = 256;

/**
 * Names the format of speech by its bytes, because servers of the OpenAI protocol may ignore the requested format. Rejects pages, JSON and
 * other files that a provider sends with status 200.
 */
export async function detectSpeech({ audio, format }: Speech, provider: string): Promise<Speech> {
  const { mimeType } = await detectMedia(audio);
  const detected = FORMATS[mimeType];
  if (detected !== undefined) return { audio, format: detected };
  const isUnknown = mimeType === 'application/octet-stream';
  if (format === 'pcm' && isUnknown && !isText(audio)) return { audio, format };
  throw new ServiceError(
    'UNAVAILABLE',
    `provider ${provider} sent ${isUnknown ? 'bytes of no known format' : mimeType} instead of speech`,
    {
      details: { reason: 'BAD_RESPONSE', retryable: false },
    },
  );
}

function isText(bytes: Uint8Array): boolean {
  return bytes.subarray(0, TEXT_HEAD_BYTES).every((byte) => byte === 9 || byte === 10 || byte === 13 || (byte >= 32 && byte < 127));
}
