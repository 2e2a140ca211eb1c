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
export function contentTypeOf(kept: string, name: string): string {
  return kept === OCTETS || !/^[\w.+-]+\/[\w.+-]+/.test(kept) ? (BY_EXTENSION[extname(name).toLowerCase()] ?? OCTETS) : kept;
}

const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain)\s*(?:;|$)/i;

/** Whether a browser shows it and runs nothing of it; anything else is saved. */
export function isShown(contentType: string): boolean {
  return SHOWN.test(contentType);
}
