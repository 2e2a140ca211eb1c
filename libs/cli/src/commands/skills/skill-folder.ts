import { constants } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Failure, wrongUsage } from '../../output/failure.ts';
import { self } from '../../server/installation.ts';
import { systemCode } from '../../server/rpc-failure.ts';

/** Bounds of a skill. The server checks them as well. */
const MAX_FILES = 200;
const MAX_CHARS = 4_000_000;
/** A UTF-8 file with more bytes has more than MAX_CHARS characters. */
const MAX_FILE_BYTES = 3 * MAX_CHARS;
/** A folder with more entries is no skill. The bound ends the scan of a home directory early. */
const MAX_ENTRIES = 10_000;
/** Bytes in which binary content is recognized before a large file is read. */
const SAMPLE_BYTES = 8_192;

/** Why a file is not uploaded. */
export type SkipReason = 'hidden' | 'symbolic link' | 'binary' | 'not a regular file';

export interface SkillFolder {
  /** Text files with paths relative to the folder, sorted by path. */
  files: { path: string; content: string }[];
  skipped: { path: string; reason: SkipReason }[];
}

/**
 * Reads all text files below a folder. Hidden files, binary files and symbolic links are skipped and reported. Fails for more than 200 text
 * files, 4,000,000 characters or 10,000 entries.
 */
export async function readSkillFolder(folder: string): Promise<SkillFolder> {
  const result: SkillFolder = { files: [], skipped: [] };
  const pending = [''];
  let [entries, chars] = [0, 0];
  for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
    for (const entry of await listFolder(join(folder, below))) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (++entries > MAX_ENTRIES) throw tooLarge(folder, `more than ${MAX_ENTRIES} files and folders`);
      const reason = getSkipReason(entry);
      if (reason !== undefined) result.skipped.push({ path, reason });
      else if (entry.isDirectory()) pending.push(path);
      else {
        const content = await readText(folder, path);
        if (content === undefined) {
          result.skipped.push({ path, reason: 'binary' });
          continue;
        }
        chars += content.length;
        result.files.push({ path, content });
        if (result.files.length > MAX_FILES) throw tooLarge(folder, `more than ${MAX_FILES} text files`);
        if (chars > MAX_CHARS) throw tooLarge(folder, `more than ${MAX_CHARS} characters`);
      }
    }
  }
  result.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return result;
}

type Entry = Awaited<ReturnType<typeof listFolder>>[number];

async function listFolder(path: string) {
  return readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    throw unreadable(path, error);
  });
}

function getSkipReason(entry: Entry): SkipReason | undefined {
  if (entry.name.startsWith('.')) return 'hidden';
  if (entry.isSymbolicLink()) return 'symbolic link';
  return entry.isDirectory() || entry.isFile() ? undefined : 'not a regular file';
}

/** Returns the text of a file, or undefined if its content is binary. O_NOFOLLOW refuses a link that replaced the file meanwhile. */
async function readText(folder: string, path: string): Promise<string | undefined> {
  const full = join(folder, path);
  try {
    await using file = await open(full, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) {
      const { buffer: sample } = await file.read({ buffer: Buffer.alloc(SAMPLE_BYTES) });
      if (sample.includes(0)) return undefined;
      throw tooLarge(folder, `more than ${MAX_CHARS} characters: ${path} alone has ${size} bytes`);
    }
    return decodeText(await file.readFile());
  } catch (error) {
    throw error instanceof Failure ? error : unreadable(full, error);
  }
}

/** Decodes UTF-8 without its byte order mark. Returns undefined for any other content. */
function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Reads one text file; `-` is standard input. */
export async function readSkillFile(file: string): Promise<string> {
  const bytes =
    file === '-'
      ? await buffer(process.stdin)
      : await readFile(file).catch((error: unknown) => {
          throw unreadable(file, error);
        });
  const name = file === '-' ? 'The input' : file;
  const content = decodeText(bytes);
  if (content === undefined) throw wrongUsage(`${name} is not UTF-8 text.`, `${self()} skills --help`);
  if (content.trim() === '') throw wrongUsage(`${name} is empty.`, `${self()} skills --help`);
  return content;
}

function unreadable(path: string, error: unknown): Failure {
  return wrongUsage(`${path} cannot be read (${systemCode(error) ?? 'unknown error'}).`, `${self()} skills --help`);
}

function tooLarge(folder: string, found: string): Failure {
  return new Failure(
    `${folder} has ${found}. A skill has at most ${MAX_FILES} text files with ${MAX_CHARS} characters.`,
    `${self()} skills upload --help`,
  );
}
