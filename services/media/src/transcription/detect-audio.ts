import { ServiceError } from '@switchyard/contracts';

/** Bytes that decide the type of a media file. */
const HEAD_BYTES = 65_536;

export interface DetectedMedia {
  /** The first part of the type. */
  kind: 'audio' | 'image' | 'video' | 'other';
  mimeType: string;
}

/** Containers of sound that `file-type` names after their more common use. */
const SOUND_TYPES: Readonly<Record<string, string>> = {
  'video/webm': 'audio/webm',
  'video/ogg': 'audio/ogg',
  'application/ogg': 'audio/ogg',
  'audio/ogg; codecs=opus': 'audio/ogg',
  'audio/vnd.wave': 'audio/wav',
  'audio/x-m4a': 'audio/mp4',
};

/** Detects what a file is from its first bytes, never from its name or a header. */
export async function detectMedia(bytes: Uint8Array): Promise<DetectedMedia> {
  const { fileTypeFromBuffer } = await import('file-type'); // loaded with the first file
  const mimeType = (await fileTypeFromBuffer(bytes.subarray(0, HEAD_BYTES)))?.mime ?? 'application/octet-stream';
  const [first] = mimeType.split('/');
  return { kind: first === 'audio' || first === 'image' || first === 'video' ? first : 'other', mimeType };
}

/** Returns the type of a sound file. Videos count as sound, because voice notes come in their containers. */
export async function requireAudio(bytes: Uint8Array): Promise<string> {
  if (bytes.length === 0) throw invalidAudio('the audio is empty: expected at least one byte');
  const { kind, mimeType } = await detectMedia(bytes);
  if (kind !== 'audio' && kind !== 'video' && mimeType !== 'application/ogg') {
    throw invalidAudio(`expected audio, got ${mimeType === 'application/octet-stream' ? 'bytes of no known format' : mimeType}`);
  }
  return SOUND_TYPES[mimeType] ?? mimeType;
}

function invalidAudio(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message, { details: { reason: 'NOT_AUDIO' } });
}
