import type { FileHandle } from 'node:fs/promises';

/** Every file begins with so many bytes that say what it is, so that one rename makes the blob whole with all that is known of it. */
export const HEAD_BYTES = 1_024;

export interface FileHead {
  contentType: string;
  expiresAt: number;
  /** Once it is whole; of one that was written before this was kept, never. */
  savedAt?: number;
  /** Once it is whole. */
  sha256?: string;
}

export async function writeHead(file: FileHandle, head: FileHead): Promise<void> {
  const text = JSON.stringify(head);
  if (text.length >= HEAD_BYTES)
    throw new RangeError(`the head of a blob has ${text.length} bytes, at most ${HEAD_BYTES - 1} are there for it`);
  await writeAll(file, Buffer.from(`${text.padEnd(HEAD_BYTES - 1)}\n`), 0);
}

/** Undefined where the file does not begin with one. */
export async function readHead(file: FileHandle): Promise<FileHead | undefined> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  if (bytesRead < HEAD_BYTES) return undefined;
  try {
    return JSON.parse(buffer.toString('latin1')) as FileHead;
  } catch {
    return undefined;
  }
}

/** A write may take less than it was given. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}
