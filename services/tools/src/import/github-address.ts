import { SKILL_FILE } from '../skills/skill-paths.ts';

/** A folder of a repository on GitHub. */
export interface GithubFolder {
  owner: string;
  repo: string;
  /** The names after `tree/`: a branch, tag or commit, which can have slashes, and then the folder. Empty: the root of the default branch. */
  refAndPath: readonly string[];
}

const HOSTS: ReadonlySet<string> = new Set(['github.com', 'www.github.com']);

/**
 * Reads `https://github.com/<owner>/<repo>`, optionally with `/tree/<ref>/<path>` or `/blob/<ref>/<path>/SKILL.md`. Returns undefined for
 * other addresses, which are addresses of files.
 */
export function parseGithubAddress(url: URL): GithubFolder | undefined {
  const [owner, name, kind, ...rest] = url.pathname
    .split('/')
    .filter((segment) => segment !== '')
    .map(decode);
  if (!HOSTS.has(url.hostname) || owner === undefined || name === undefined) return undefined;
  const repo = name.replace(/\.git$/, '');
  if (kind === undefined) return { owner, repo, refAndPath: [] };
  if (kind === 'tree' && rest.length > 0) return { owner, repo, refAndPath: rest };
  if (kind === 'blob' && rest.length > 1 && rest.at(-1) === SKILL_FILE) return { owner, repo, refAndPath: rest.slice(0, -1) };
  return undefined;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
