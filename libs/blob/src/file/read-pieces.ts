import type { FileHandle } from 'node:fs/promises';
import { CHUNK_BYTES } from '../store/blob-store.ts';
import { explain } from './file-errors.ts';

/** What stands in a file from one position up to another; less where the file ends before. */
export async function* readPieces(file: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array, void, void> {
  for (let at = from; at < to;) {
    const { bytesRead, buffer } = await file
      .read(Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, to - at)), { position: at })
      .catch((error: unknown) => {
        throw explain(error);
      });
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
