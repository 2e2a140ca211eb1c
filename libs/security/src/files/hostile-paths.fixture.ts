import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const INSIDE = 'inside';
export const OUTSIDE = 'outside';

/** Creates a directory with files and links, beside files that must never be read. Returns the path of the directory. */
export function createTree(base: string): string {
  const root = join(base, 'root');
  mkdirSync(join(root, 'sub/deep'), { recursive: true });
  mkdirSync(join(base, 'root-sibling'));
  for (const file of ['secret', 'root-sibling/secret']) writeFileSync(join(base, file), OUTSIDE);
  for (const file of ['file', 'sub/file', 'sub/deep/file']) writeFileSync(join(root, file), INSIDE);
  const links: Record<string, string> = {
    'link-file': '../secret',
    'link-absolute': join(base, 'secret'),
    'link-inside': 'file',
    'link-up': '..',
    'link-root': '/',
    'link-self': '.',
    'link-loop': 'link-loop',
    'link-proc': '/proc/self/root',
    'link-cwd': '/proc/self/cwd',
    'link-sibling': '../root-sibling',
    'sub/link-up': '../..',
    'sub/deep/link-file': '../../../secret',
    'link-chain': 'link-up',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  execFileSync('mkfifo', [join(root, 'pipe')]);
  return root;
}

/** Paths that must not open a file: spellings of parents, absolute paths, links, and entries that are no regular files. */
export function listHostilePaths(base: string): string[] {
  const targets = ['secret', 'root-sibling/secret', 'root/../secret', 'root/file'];
  const parents = [
    '..',
    './..',
    '.././',
    'sub/../..',
    'sub/deep/../../..',
    'missing/../..',
    '../root/..',
    'file/..',
    'link-self/..',
    'sub//../..',
  ];
  const traversals = parents.flatMap((parent) => targets.map((target) => `${parent}/${target}`));
  const spellings = traversals.flatMap((path) => [
    path,
    path.replaceAll('/', '\\'),
    path.replaceAll('/', '//'),
    path.replaceAll('..', '%2e%2e'),
    path.replaceAll('/', '\u2215'),
    path.replaceAll('..', '\u2025'),
  ]);
  const absolute = [
    join(base, 'secret'),
    `/${join(base, 'secret')}`,
    `/proc/self/cwd${join(base, 'secret')}`,
    `/proc/self/root${join(base, 'secret')}`,
    '/etc/passwd',
    '//etc/passwd',
    'C:/secret',
    'c:secret',
    `file://${join(base, 'secret')}`,
    `\\\\server\\share`,
    '~/secret',
    '$HOME/secret',
  ];
  const links = [
    'link-file',
    'link-absolute',
    'link-inside',
    'link-up/secret',
    `link-root${join(base, 'secret')}`,
    'link-self/file',
    'link-loop',
    'link-loop/file',
    `link-proc${join(base, 'secret')}`,
    'link-cwd/package.json',
    'link-sibling/secret',
    'sub/link-up/secret',
    'sub/deep/link-file',
    'link-chain/secret',
    'link-chain/root/file',
  ];
  const noFiles = [
    '',
    '.',
    '..',
    '/',
    './',
    'sub',
    'sub/',
    'sub/deep',
    'pipe',
    'file/',
    'file/x',
    'missing',
    'missing/file',
    './file',
    'sub/./file',
  ];
  const bytes = [
    'file\0',
    '\0file',
    'file\0.txt',
    '../secret\0',
    'fi\nle',
    'file\r',
    '\x7f',
    '\ud800',
    'x'.repeat(256),
    'x/'.repeat(3_000),
    'sub/'.repeat(64),
  ];
  return [...spellings, ...absolute, ...links, ...links.map((path) => `sub/../${path}`), ...noFiles, ...bytes];
}
