import { fromBuffer, type Entry, type ZipFile } from 'yauzl';
import { DocumentRefusal } from '../protocol/protocol.ts';

const MAX_ENTRIES = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_RATIO = 100;
/** Small archives of repeated text compress better than the ratio allows. */
const RATIO_FREE_BYTES = 1024 * 1024;

/**
 * Inflates an archive and counts while it does, because the announced sizes may be wrong. Archives inside of it stay bytes. Throws a
 * `DocumentRefusal` above a limit, for names that lead out of the archive, and for encrypted entries.
 */
export async function readZip(bytes: Uint8Array): Promise<ReadonlyMap<string, Buffer>> {
  const zip = await open(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (zip.entryCount > MAX_ENTRIES) throw limit(`${zip.entryCount} entries; at most ${MAX_ENTRIES} are read`);
  const files = new Map<string, Buffer>();
  let total = 0;
  const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, Buffer>>();
  zip.on('error', (error: Error) => reject(describe(error)));
  zip.on('end', () => resolve(files));
  zip.on('entry', (entry: Entry) => {
    if (entry.fileName.endsWith('/')) return zip.readEntry();
    if ((entry.generalPurposeBitFlag & 1) !== 0) return reject(new DocumentRefusal('encrypted', 'the document is protected by a password'));
    if (files.size >= MAX_ENTRIES) return reject(limit(`more than ${MAX_ENTRIES} entries`));
    inflate(zip, entry, (length) => {
      total += length;
      if (total > MAX_BYTES) throw limit(`more than ${MAX_BYTES} inflated bytes`);
      if (total > RATIO_FREE_BYTES && total > bytes.length * MAX_RATIO) throw limit(`a compression ratio above ${MAX_RATIO}`);
    }).then((content) => {
      files.set(entry.fileName, content);
      zip.readEntry();
    }, reject);
  });
  zip.readEntry();
  return promise.finally(() => zip.close());
}

async function open(buffer: Buffer): Promise<ZipFile> {
  const { promise, resolve, reject } = Promise.withResolvers<ZipFile>();
  fromBuffer(buffer, { lazyEntries: true, validateEntrySizes: false, strictFileNames: false }, (error, zip) => {
    if (error) reject(describe(error));
    else resolve(zip);
  });
  return promise;
}

async function inflate(zip: ZipFile, entry: Entry, count: (length: number) => void): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  zip.openReadStream(entry, (error, stream) => {
    if (error) return reject(describe(error));
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      try {
        count(chunk.length);
      } catch (limitError) {
        stream.destroy();
        reject(limitError instanceof Error ? limitError : new Error(String(limitError)));
      }
    });
    stream.on('end', () => resolve(Buffer.concat(chunks)));
    stream.on('error', (streamError: Error) => reject(describe(streamError)));
  });
  return promise;
}

function describe(error: Error): DocumentRefusal {
  if (error instanceof DocumentRefusal) return error;
  return /relative path|absolute path|invalid characters in fileName/.test(error.message)
    ? new DocumentRefusal('path', 'the archive has a name that leads out of the archive')
    : new DocumentRefusal('damaged', `the archive is damaged: ${error.message.slice(0, 200)}`);
}

function limit(found: string): DocumentRefusal {
  return new DocumentRefusal('limit', `the archive has ${found}`);
}
