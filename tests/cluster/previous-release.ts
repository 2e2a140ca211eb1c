import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linkPackages } from '../new-service/repository-copy.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const CONTRACTS = 'libs/contracts/snapshots';
const MAX_ARCHIVE_BYTES = 1024 ** 3;

/** A release to start processes of, or the reason why there is none. */
export type PreviousRelease = { commit: string; missing?: never } | { commit?: never; missing: string };

/** Finds the newest version tag before this commit, or the commit before the last change of the contracts. */
export function findPreviousRelease(): PreviousRelease {
  const tag = tryGit('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^');
  const changed = tryGit('log', '-1', '--format=%H', '--', CONTRACTS);
  const commit = tag ?? (changed === undefined ? undefined : tryGit('rev-parse', '--verify', '--quiet', `${changed}^`));
  if (commit === undefined) return { missing: 'the git history contains no release before this one' };
  const absent = listPackages(commit).filter((name) => !existsSync(join(root, name)));
  return absent.length === 0 ? { commit } : { missing: `the release before this one needs ${absent.join(', ')}` };
}

/** Writes the files of a commit into a folder, with the installed packages. */
export function extractRelease(commit: string, folder: string): void {
  const archive = execFileSync('git', ['archive', '--format=tar', commit], { cwd: root, maxBuffer: MAX_ARCHIVE_BYTES });
  execFileSync('tar', ['--extract', '--directory', folder], { input: archive });
  linkPackages(folder);
}

/** The folders of the packages that a release runs with. */
function listPackages(commit: string): string[] {
  const lock = JSON.parse(execFileSync('git', ['show', `${commit}:package-lock.json`], { cwd: root, encoding: 'utf8' })) as {
    packages: Record<string, { dev?: boolean; optional?: boolean; link?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([folder, { dev, optional, link }]) => folder.startsWith('node_modules/') && !dev && !optional && !link)
    .map(([folder]) => folder);
}

function tryGit(...args: string[]): string | undefined {
  try {
    const output = execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return output === '' ? undefined : output;
  } catch {
    return undefined; // no repository, a shallow clone, or no tag
  }
}
