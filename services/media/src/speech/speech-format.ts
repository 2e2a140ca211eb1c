import { MAX, ServiceError } from '@switchyard/contracts';
import { SPEECH_FORMATS, type SpeechFormat } from '@switchyard/models';
import type { MediaSettings } from '../deps/media-deps.ts';

interface FileFormat {
  mimeType: string;
  extension: string;
}

/** Type and extension of each format. Opus is in an Ogg container. */
export const FILE_FORMATS: Readonly<Record<SpeechFormat, FileFormat>> = {
  opus: { mimeType: 'audio/ogg', extension: 'ogg' },
  mp3: { mimeType: 'audio/mpeg', extension: 'mp3' },
  aac: { mimeType: 'audio/aac', extension: 'aac' },
  flac: { mimeType: 'audio/flac', extension: 'flac' },
  wav: { mimeType: 'audio/wav', extension: 'wav' },
  pcm: { mimeType: 'audio/pcm', extension: 'pcm' },
};

const ALIASES: Readonly<Record<string, SpeechFormat>> = {
  ogg: 'opus',
  'audio/ogg': 'opus',
  mpeg: 'mp3',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
};

export function parseFormat(format: string): SpeechFormat {
  const name = format.toLowerCase();
  const found = ALIASES[name] ?? SPEECH_FORMATS.find((one) => one === name);
  if (found !== undefined) return found;
  const message = `Invalid params: format: expected ${SPEECH_FORMATS.join(', ')}, got ${format.slice(0, MAX.id)}`;
  throw new ServiceError('INVALID_ARGUMENT', message, { details: { reason: 'UNKNOWN_FORMAT' } });
}

/** The format of a channel: Opus on Telegram, MP3 elsewhere, unless the settings differ. */
export function defaultFormat({ current }: MediaSettings, channel: string | undefined): SpeechFormat {
  const { telegram, discord, whatsapp, slack, default: other } = current.tts.outputFormats;
  const byChannel = new Map([
    ['telegram', telegram],
    ['discord', discord],
    ['whatsapp', whatsapp],
    ['slack', slack],
  ]);
  return parseFormat(byChannel.get(channel ?? '') ?? other);
}
