import { execFile } from 'node:child_process';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { promisify } from 'node:util';

const VERSION = '1.1.0';
const HOME = join(import.meta.dirname, '../../../../.tools', `miniwob-${VERSION}`);
const PAGES = join(HOME, 'miniwob', 'html');
const DOWNLOAD_TIMEOUT_MS = 150_000;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

const run = promisify(execFile);

/** Fetches the pages of MiniWoB++ once. They are not ours to distribute. Returns their folder. */
export async function fetchTaskFiles(): Promise<string> {
  const isFetched = await access(PAGES).then(
    () => true,
    () => false,
  );
  if (isFetched) return PAGES;
  const folder = `${HOME}-${process.pid}.tmp`;
  await mkdir(folder, { recursive: true });
  try {
    const options = { cwd: folder, timeout: DOWNLOAD_TIMEOUT_MS };
    await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', '.', `miniwob==${VERSION}`], options);
    await run('python3', ['-m', 'zipfile', '-e', `miniwob-${VERSION}-py3-none-any.whl`, '.'], options);
    await rename(folder, HOME);
    return PAGES;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Serves the pages. Each task is the same in each run. Time limits are removed, because a busy machine would exceed them. */
export function serveTaskFiles(folder: string, seed: string): RequestListener {
  const settings = `<script>Math.seedrandom(${JSON.stringify(seed)}); core.EPISODE_MAX_TIME = 600000;</script></head>`;
  return ({ url = '/' }, response) => {
    const path = normalize(new URL(url, 'http://localhost').pathname);
    const send = async (): Promise<void> => {
      const type = TYPES[extname(path)] ?? 'application/octet-stream';
      const bytes = await readFile(join(folder, path));
      response.writeHead(200, { 'content-type': type });
      response.end(path.startsWith('/miniwob/') ? bytes.toString().replace('</head>', settings) : bytes);
    };
    send().catch(() => response.writeHead(404).end());
  };
}
