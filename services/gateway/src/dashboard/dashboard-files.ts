import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { StartError } from '@switchyard/service-kit';

/** Total size of the files, which are kept in memory. */
const MAX_BYTES = 64 * 1024 * 1024;
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
  for (const file of listFiles(directory)) {
    remaining -= statSync(file).size;
    if (remaining < 0)
      throw new StartError(`gateway.web.path: ${directory} exceeds ${MAX_BYTES} bytes. Set the directory of a built dashboard.`);
    const name = relative(directory, file).split(sep).join('/');
    files.set(name, createFile(name, readFileSync(file)));
  }
  const page = files.get(PAGE);
  if (page === undefined)
    throw new StartError(`gateway.web.path: ${directory} contains no ${PAGE}. Set the directory of a built dashboard.`);
  return (path) => files.get(path) ?? (path === '' || extname(path) === '' ? page : undefined);
}

function listFiles(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter(
        (file) =>
          !relative(directory, file)
            .split(sep)
            .some((part) => part.startsWith('.')),
      );
  } catch (cause) {
    throw new StartError(`gateway.web.path: ${directory} cannot be read (${(cause as NodeJS.ErrnoException).code}).`, { cause });
  }
}

function createFile(name: string, bytes: Buffer): DashboardFile {
  return {
    bytes,
    type: TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    immutable: name.startsWith('assets/'),
  };
}
