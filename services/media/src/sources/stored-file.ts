import { readBlob, type BlobStore } from '@switchyard/blob';
import { PAYLOAD_TYPE, ServiceError, type Principal } from '@switchyard/contracts';
import { fileTooLarge } from './file-too-large.ts';
import type { SourceFile } from './source-file.ts';

/** A blob id, or the path of `GET /media/:id`, with any extension. */
const STORED = /^(?:\/media\/)?(blob_[0-9A-Za-z]{22})(?:\.[A-Za-z0-9._-]{0,100})?$/;

export function findBlobId(address: string): string | undefined {
  return STORED.exec(address)?.[1];
}

export interface ReadStoredOptions {
  principal: Principal;
  signal: AbortSignal;
  maxBytes: number;
}

/** Reads a stored file of the caller's tenant. Fails NOT_FOUND for files of other tenants. */
export async function readStoredFile(
  store: BlobStore,
  id: string,
  { principal, signal, maxBytes }: ReadStoredOptions,
): Promise<SourceFile> {
  const blobs = store.for(principal);
  const ref = await blobs.status(id);
  if (ref.contentType === PAYLOAD_TYPE) throw new ServiceError('NOT_FOUND', `the file ${id} does not exist`);
  if (ref.size > maxBytes) throw fileTooLarge(ref.size, maxBytes);
  const { bytes } = await readBlob(blobs, id, { signal });
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return { bytes: Buffer.concat(chunks) };
}
