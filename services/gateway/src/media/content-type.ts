import { extname } from 'node:path';

const OCTETS = 'application/octet-stream';

const BY_EXTENSION: Readonly<Record<string, string>> = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.mp3': 'audio/mpeg',
  '.ogg': 'audio/ogg',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.txt': 'text/plain; charset=utf-8',
};

/** Returns the stored content type, or the type of the file extension. */
export function resolveContentType(stored: string, name: string): string {
  return stored === OCTETS || !/^[\w.+-]+\/[\w.+-]+/.test(stored) ? (BY_EXTENSION[extname(name).toLowerCase()] ?? OCTETS) : stored;
}

const INLINE_TYPES = /^(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain)\s*(?:;|$)/i;

/** Whether a browser may display the file, because it executes nothing in it. Other files are downloaded. */
export function isInline(contentType: string): boolean {
  return INLINE_TYPES.test(contentType);
}
