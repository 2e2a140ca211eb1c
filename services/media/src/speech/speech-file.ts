import { createSource, mintBlobId, putBlob, type BlobStore } from '@switchyard/blob';
import { ServiceError, type Principal } from '@switchyard/contracts';
import type { MediaSettings } from '../deps/media-deps.ts';
import { fileTooLarge } from '../sources/file-too-large.ts';
import type { Speech } from './convert-speech.ts';
import { FILE_FORMATS } from './speech-format.ts';

/** How long a spoken file can be fetched at most. The blob store removes it, whichever replica made it. */
const LIFETIME_MS = 3_600_000;
const MIB = 1_048_576;

export interface SpokenFile {
  filePath: string;
  mimeType: string;
  sizeBytes: number;
  mediaPath: string;
}

export interface StoreSpeechOptions {
  principal: Principal;
  settings: MediaSettings;
  now: number;
  /** The same id stores the same file once. */
  id?: string;
}

/** Stores speech as a kept blob, because workspaces accept text files only. */
export async function storeSpeech(store: BlobStore, { audio, format }: Speech, options: StoreSpeechOptions): Promise<SpokenFile> {
  const { principal, settings, now, id = mintBlobId() } = options;
  const { persistence, store: retention } = settings.current.media;
  const { mimeType, extension } = FILE_FORMATS[format];
  const blobs = store.for(principal);
  if (!persistence.enabled) throw refuse('files cannot be stored: set media.persistence.enabled to true', 'STORAGE_DISABLED');
  if (audio.length > persistence.maxFileBytes) throw fileTooLarge(audio.length, persistence.maxFileBytes);
  const { bytes } = await blobs.usage();
  if (bytes + audio.length > persistence.maxStorageMb * MIB) {
    throw refuse(`the stored files would exceed ${persistence.maxStorageMb} MB (media.persistence.maxStorageMb)`, 'STORAGE_FULL');
  }
  const expiresAt = now + Math.min(LIFETIME_MS, retention.ttlMs ?? LIFETIME_MS);
  await putBlob(blobs, createSource(audio), { id, contentType: mimeType, expiresAt, size: audio.length });
  await blobs.keep(id, { owner: `speech/${id}`, expiresAt });
  const mediaPath = `/media/${id}.${extension}`;
  return { filePath: mediaPath, mimeType, sizeBytes: audio.length, mediaPath };
}

function refuse(message: string, reason: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason } });
}
