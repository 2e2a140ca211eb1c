import { createHash } from 'node:crypto';
import { closeSync, fstatSync, opendirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { openSafeDirectory, type SafeDirectory, UnsafePathError } from '@switchyard/security';
import { StartError } from '@switchyard/service-kit';

/** Total size of the files, which are kept in memory. */
const MAX_BYTES = 64 * 1024 * 1024;
/** A built dashboard has some dozens of files. Another directory, such as `/usr`, would block the process for minutes. */
const MAX_ENTRIES = 2_000;
const MAX_WALK_MS = 2_000;
const PAGE = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
};

export interface DashboardFile {
  bytes: Buffer;
  type: string;
  etag: string;
  /** Whether the name changes with the content, so that browsers may cache the file for a year. */
  immutable: boolean;
  /** Compressed bytes, from files with the suffix `.br` or `.gz` beside the file. */
  compressed: Partial<Record<'br' | 'gzip', Buffer>>;
}

/** Returns the file of a path below `/app/`, or the index page for client-side routes. */
export type Dashboard = (path: string) => DashboardFile | undefined;

/**
 * Reads all files of the dashboard. Only these files are served, so no path leads elsewhere and later changes on disk have no effect. Links
 * and dot files are skipped.
 */
export function readDashboard(directory: string): Dashboard {
  const files = new Map<string, DashboardFile>();
  let remaining = MAX_BYTES;
  const names = listFiles(directory).map((file) => relative(directory, file).split(sep).join('/'));
  if (names.length > 0) {
    using root = openSafeDirectory(directory);
    for (const name of names) {
      const bytes = readRegularFile(root, name, remaining);
      if (bytes === 'skipped') continue;
      if (bytes === 'too large')
        throw new StartError(`gateway.web.path: ${directory} exceeds ${MAX_BYTES} bytes. Set the directory of a built dashboard.`);
      remaining -= bytes.length;
      files.set(name, createFile(name, bytes));
    }
  }
  for (const [name, file] of files) {
    const [br, gzip] = [files.get(`${name}.br`), files.get(`${name}.gz`)];
    if (br) file.compressed.br = br.bytes;
    if (gzip) file.compressed.gzip = gzip.bytes;
  }
  const page = files.get(PAGE);
  if (page === undefined)
    throw new StartError(`gateway.web.path: ${directory} contains no ${PAGE}. Set the directory of a built dashboard.`);
  return (path) => files.get(path) ?? (path === '' || extname(path) === '' ? page : undefined);
}

/** Lists the regular files of a directory and its subdirectories without following links. */
function listFiles(directory: string): string[] {
  const deadline = performance.now() + MAX_WALK_MS;
  const files: string[] = [];
  const directories = [directory];
  let count = 0;
  for (let path = directories.pop(); path !== undefined; path = directories.pop()) {
    using entries = openDirectory(directory, path);
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      if (++count > MAX_ENTRIES || performance.now() > deadline)
        throw new StartError(
          `gateway.web.path: ${directory} has more than ${MAX_ENTRIES} entries or takes more than ${MAX_WALK_MS / 1_000} s to read. Set the directory of a built dashboard.`,
        );
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory()) directories.push(join(path, entry.name));
      else if (entry.isFile()) files.push(join(path, entry.name));
    }
  }
  return files;
}

function openDirectory(directory: string, path: string): ReturnType<typeof opendirSync> {
  try {
    return opendirSync(path);
  } catch (cause) {
    throw new StartError(`gateway.web.path: ${directory} cannot be read (${(cause as NodeJS.ErrnoException).code}).`, { cause });
  }
}

/** Reads a file. It is skipped if it, or a directory above it, was replaced by a link or a pipe since it was listed. */
function readRegularFile(root: SafeDirectory, name: string, maxBytes: number): Buffer | 'skipped' | 'too large' {
  let descriptor: number;
  try {
    descriptor = root.open(name);
  } catch (error) {
    if (error instanceof UnsafePathError) return 'skipped';
    throw error;
  }
  try {
    return fstatSync(descriptor).size > maxBytes ? 'too large' : readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function createFile(name: string, bytes: Buffer): DashboardFile {
  return {
    bytes,
    type: TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    immutable: name.startsWith('assets/'),
    compressed: {},
  };
}
