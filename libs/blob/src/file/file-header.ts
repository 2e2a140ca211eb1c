import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { BlobRef } from '@switchyard/contracts';
import { ignoreMissing } from './file-errors.ts';

/** Every file starts with a JSON header of this size, so that one `link` publishes the blob together with its metadata. */
export const HEADER_BYTES = 1_024;

export interface FileHeader {
  contentType: string;
  expiresAt: number;
  savedAt: number;
  sha256: string;
}

export async function writeHeader(file: FileHandle, header: FileHeader): Promise<void> {
  const text = JSON.stringify(header);
  if (text.length >= HEADER_BYTES) throw new RangeError(`the blob header has ${text.length} bytes; the maximum is ${HEADER_BYTES - 1}`);
  await writeAll(file, Buffer.from(`${text.padEnd(HEADER_BYTES - 1)}\n`), 0);
}

/** Returns undefined if the file has no valid header. */
export async function readHeader(file: FileHandle): Promise<FileHeader | undefined> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
  if (bytesRead < HEADER_BYTES) return undefined;
  try {
    return JSON.parse(buffer.toString('latin1')) as FileHeader;
  } catch {
    return undefined;
  }
}

export function openForReading(path: string): Promise<FileHandle | undefined> {
  return ignoreMissing(open(path, constants.O_RDONLY | constants.O_NOFOLLOW));
}

/** Returns undefined if the file does not exist or has no valid header. */
export async function readBlobFile(path: string, id: string): Promise<BlobRef | undefined> {
  const file = await openForReading(path);
  if (file === undefined) return undefined;
  try {
    const header = await readHeader(file);
    if (header === undefined) return undefined;
    const { size } = await file.stat();
    return { id, size: size - HEADER_BYTES, ...header };
  } finally {
    await file.close();
  }
}

/** Repeats short writes until all bytes are written. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let start = 0; start < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, start, bytes.length - start, position + start);
    start += bytesWritten;
  }
}
