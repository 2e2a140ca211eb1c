import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl';
import { createFileCollector, refuseUrl, requireSkillFile, type ImportedFiles } from './text-files.ts';

const MAX_ENTRIES = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_RATIO = 100;
/** Small archives of repeated text compress better than the ratio allows. */
const RATIO_FREE_BYTES = 1024 * 1024;
const ENCRYPTED_FLAG = 1;
const FILE_TYPE_MASK = 0o170000;
const SYMBOLIC_LINK = 0o120000;
/** Files that archive programs add. */
const ADDED_FILE = /^__MACOSX\/|(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/;

export function isZip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4;
}

/**
 * Reads the text files of an archive. Its only top folder is the folder of the skill. Bytes are counted while they are inflated, because
 * the announced sizes can be wrong. Throws INVALID_ARGUMENT for a damaged or encrypted archive, for names that lead out, and above limits.
 */
export async function readZipSkill(bytes: Uint8Array): Promise<ImportedFiles> {
  const entries = await readEntries(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).catch((error: unknown) => {
    throw convertError(error);
  });
  const prefix = findTopFolder([...entries.keys()]);
  const collector = createFileCollector();
  requireSkillFile([...entries.keys()].map((name) => name.slice(prefix.length)));
  for (const [name, content] of entries) {
    if (content === undefined) collector.skip();
    else collector.add(name.slice(prefix.length), content);
  }
  return collector.finish();
}

/** Contents by name. Symbolic links have none. */
async function readEntries(buffer: Buffer): Promise<ReadonlyMap<string, Buffer | undefined>> {
  const zip = await fromBufferPromise(buffer, { lazyEntries: true, validateEntrySizes: false });
  if (zip.entryCount > MAX_ENTRIES) throw refuseUrl(`an archive of at most ${MAX_ENTRIES} entries`, `${zip.entryCount}`);
  const files = new Map<string, Buffer | undefined>();
  let total = 0;
  const count = (length: number): void => {
    total += length;
    if (total > MAX_BYTES) throw refuseUrl(`an archive of at most ${MAX_BYTES} inflated bytes`, 'more');
    if (total > RATIO_FREE_BYTES && total > buffer.length * MAX_RATIO)
      throw refuseUrl(`an archive with a compression ratio of at most ${MAX_RATIO}`, 'a higher one');
  };
  for await (const entry of zip.eachEntry()) {
    const { fileName } = entry;
    if (fileName.endsWith('/') || ADDED_FILE.test(fileName)) continue;
    if ((entry.generalPurposeBitFlag & ENCRYPTED_FLAG) !== 0) throw refuseUrl('an archive without a password', 'an encrypted one');
    if (files.has(fileName)) throw refuseUrl('an archive with each name once', `${fileName.slice(0, 100)} twice`);
    if (files.size >= MAX_ENTRIES) throw refuseUrl(`an archive of at most ${MAX_ENTRIES} entries`, 'more');
    const isLink = ((entry.externalFileAttributes >>> 16) & FILE_TYPE_MASK) === SYMBOLIC_LINK;
    files.set(fileName, isLink ? undefined : await inflate(zip, entry, count));
  }
  return files;
}

async function inflate(zip: ZipFile, entry: Entry, count: (length: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const stream = await zip.openReadStreamPromise(entry);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    count(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Returns the folder that has all files, with its slash; empty if there is none. */
function findTopFolder(names: readonly string[]): string {
  const [first = ''] = names;
  const prefix = first.slice(0, first.indexOf('/') + 1);
  return names.every((name) => name.startsWith(prefix)) ? prefix : '';
}

function convertError(error: unknown): unknown {
  if (!(error instanceof Error) || error.name === 'ServiceError') return error;
  const isEscape = /relative path|absolute path|invalid characters in fileName/.test(error.message);
  return isEscape
    ? refuseUrl('an archive whose names stay within it', 'a name that leads out')
    : refuseUrl('a readable archive', `a damaged one: ${error.message.slice(0, 200)}`);
}
