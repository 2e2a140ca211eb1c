import { ServiceError } from '@switchyard/contracts';
import type { SpeechFormat } from '@switchyard/models';
import { convertAudio, hasFfmpeg, NO_FFMPEG } from '../conversion/ffmpeg.ts';

const PCM_HEADER_BYTES = 44;
const PCM_RATE = 24_000;

/** Arguments of ffmpeg for the output of each format. Opus is 48 kHz, the only rate of its container. */
const ENCODERS: Readonly<Record<SpeechFormat, readonly string[]>> = {
  opus: ['-c:a', 'libopus', '-ar', '48000', '-b:a', '48k', '-f', 'ogg'],
  mp3: ['-c:a', 'libmp3lame', '-q:a', '4', '-f', 'mp3'],
  aac: ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'],
  flac: ['-c:a', 'flac', '-f', 'flac'],
  wav: ['-c:a', 'pcm_s16le', '-f', 'wav'],
  pcm: ['-c:a', 'pcm_s16le', '-ar', '24000', '-ac', '1', '-f', 's16le'],
};

export interface Speech {
  audio: Uint8Array<ArrayBuffer>;
  format: SpeechFormat;
}

/**
 * Converts speech to the requested format. Without ffmpeg the produced format is returned if the caller did not ask for one; else the call
 * fails and names the package.
 */
export async function convertSpeech(
  speech: Speech,
  { format, isExplicit, signal }: { format: SpeechFormat; isExplicit: boolean; signal: AbortSignal },
): Promise<Speech> {
  if (speech.format === format) return speech;
  if (speech.format === 'wav' && format === 'pcm' && hasPlainHeader(speech.audio))
    return { audio: speech.audio.slice(PCM_HEADER_BYTES), format };
  if (!hasFfmpeg()) {
    if (!isExplicit) return speech;
    const message = `the speech model makes ${speech.format}, and converting it to ${format} needs ffmpeg. ${NO_FFMPEG}`;
    throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'FFMPEG_NOT_INSTALLED' } });
  }
  const input = speech.format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : [];
  return { audio: await convertAudio(speech.audio, { input, output: ENCODERS[format], signal }), format };
}

/** Whether the samples of a WAV file need no change to be raw samples: mono, 24 kHz, and nothing but the usual header before them. */
function hasPlainHeader(wav: Uint8Array): boolean {
  if (wav.length < PCM_HEADER_BYTES) return false;
  const header = Buffer.from(wav.buffer, wav.byteOffset, PCM_HEADER_BYTES);
  const [channels, rate, bits] = [header.readUInt16LE(22), header.readUInt32LE(24), header.readUInt16LE(34)];
  return header.toString('latin1', 36, 40) === 'data' && channels === 1 && rate === PCM_RATE && bits === 16;
}
