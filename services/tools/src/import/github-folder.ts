import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import type { Downloads } from './downloads.ts';
import type { GithubFolder } from './github-address.ts';
import { MAX_FILES } from '../skills/skill-paths.ts';
import { createFileCollector, decodeText, refuseUrl, requireSkillFile, type ImportedFiles } from './text-files.ts';

const API = 'https://api.github.com';
const FILE_HOST = 'https://raw.githubusercontent.com';
/** Requests to the API for one import. GitHub accepts 60 an hour from one address. Files are read from another host without that limit. */
const MAX_API_REQUESTS = 30;
const MAX_DEPTH = 8;
const MAX_REF_SEGMENTS = 4;
const MAX_LISTING_BYTES = 4 * 1024 * 1024;
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const PARALLEL_DOWNLOADS = 4;
/** Files that are not downloaded. Other binary files are recognized by their bytes. */
const BINARY_NAME =
  /\.(?:png|jpe?g|gif|webp|ico|pdf|zip|gz|tgz|bz2|xz|7z|jar|woff2?|ttf|otf|eot|mp[34]|m4a|mov|avi|wav|ogg|exe|dll|so|dylib|bin|wasm)$/i;

const Listing = z.array(z.object({ name: z.string(), type: z.string(), size: z.number().default(0), download_url: z.string().nullish() }));

interface FolderReader {
  downloads: Downloads;
  signal: AbortSignal;
}

/** Reads the text files of a folder of a public repository, all of one commit. */
export async function readGithubFolder(
  { owner, repo, refAndPath }: GithubFolder,
  { downloads, signal }: FolderReader,
): Promise<ImportedFiles> {
  let requests = 0;
  const base = `${API}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`;

  async function getText(path: string, accept: string): Promise<string> {
    requests += 1;
    if (requests > MAX_API_REQUESTS) throw refuseUrl(`a folder that ${MAX_API_REQUESTS} requests can list`, 'one with more subfolders');
    const bytes = await downloads.get(`${base}${path}`, { signal, maxBytes: MAX_LISTING_BYTES, accept });
    return decodeText(bytes) ?? '';
  }

  /** Finds the commit by the shortest ref that exists, because names of branches can have slashes. */
  async function findCommit(): Promise<{ commit: string; folder: readonly string[] }> {
    const lengths = refAndPath.length === 0 ? [0] : refAndPath.slice(0, MAX_REF_SEGMENTS).map((_, at) => at + 1);
    let missing: unknown;
    for (const length of lengths) {
      const ref = length === 0 ? 'HEAD' : refAndPath.slice(0, length).map(encodeURIComponent).join('/');
      try {
        const commit = (await getText(`/commits/${ref}`, 'application/vnd.github.sha')).trim();
        if (!/^[0-9a-f]{40,64}$/.test(commit)) throw unexpectedAnswer();
        return { commit, folder: refAndPath.slice(length) };
      } catch (error) {
        if (!isMissing(error)) throw error;
        missing ??= error;
      }
    }
    throw describeMissing(missing, `${owner}/${repo}${refAndPath.length === 0 ? '' : ` at ${refAndPath.join('/')}`}`);
  }

  async function list(folder: readonly string[], commit: string): Promise<z.infer<typeof Listing>> {
    const path = folder.map((name) => `/${encodeURIComponent(name)}`).join('');
    const text = await getText(`/contents${path}?ref=${commit}`, 'application/vnd.github+json').catch((error: unknown) => {
      throw isMissing(error) ? describeMissing(error, `the folder ${folder.join('/')} of ${owner}/${repo}`) : error;
    });
    const entries = Listing.safeParse(parseJson(text));
    if (entries.success) return entries.data;
    if (text.startsWith('{')) throw refuseUrl('the address of a folder', 'the address of a file');
    throw unexpectedAnswer();
  }

  const { commit, folder } = await findCommit();
  const collector = createFileCollector();
  const paths: string[] = [];
  const folders: string[][] = [[]];
  for (let inner = folders.shift(); inner !== undefined; inner = folders.shift()) {
    const entries = await list([...folder, ...inner], commit);
    if (inner.length === 0) requireSkillFile(entries.map(({ name, type }) => (type === 'dir' ? `${name}/` : name)));
    for (const { name, type, size, download_url: link } of entries) {
      if (type === 'dir') {
        if (inner.length >= MAX_DEPTH) throw refuseUrl(`at most ${MAX_DEPTH} levels of folders`, 'more');
        folders.push([...inner, name]);
      } else if (type !== 'file' || link === null || link === undefined || BINARY_NAME.test(name)) collector.skip();
      else if (size > MAX_FILE_BYTES) throw refuseUrl(`files of at most ${MAX_FILE_BYTES} bytes`, `${size} bytes in ${name.slice(0, 100)}`);
      else if (paths.push([...inner, name].join('/')) > MAX_FILES) throw refuseUrl(`a skill of at most ${MAX_FILES} files`, 'more');
    }
  }
  for (let at = 0; at < paths.length; at += PARALLEL_DOWNLOADS) {
    const batch = paths.slice(at, at + PARALLEL_DOWNLOADS);
    const contents = await Promise.all(
      batch.map(async (path) => {
        const segments = [owner, repo, commit, ...folder, ...path.split('/')].map(encodeURIComponent);
        return downloads.get(`${FILE_HOST}/${segments.join('/')}`, { signal, maxBytes: MAX_FILE_BYTES });
      }),
    );
    for (const [index, bytes] of contents.entries()) collector.add(batch[index] ?? '', bytes);
  }
  return collector.finish();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** GitHub responds with 404 or 422 to an unknown ref. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.code === 'NOT_FOUND' || error.details['status'] === 422;
}

function describeMissing(cause: unknown, what: string): ServiceError {
  return new ServiceError('NOT_FOUND', `GitHub does not have ${what}, or it is private.`, { cause });
}

function unexpectedAnswer(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'api.github.com responded with an unexpected body', { details: { reason: 'UPSTREAM_RESPONSE' } });
}
