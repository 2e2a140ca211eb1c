import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { SkillHead } from './skill-head.ts';

/** Variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns what the skill requires and this process does not have; undefined if nothing is missing. No program is run. */
export function findMissing({ os, requires = {} }: Pick<SkillHead, 'os' | 'requires'>, env: Environment = process.env): string | undefined {
  const { bins = [], env: variables = [] } = requires;
  const missing = [
    ...(os === undefined || os.length === 0 || os.includes(process.platform) ? [] : [`the operating system ${os.join(' or ')}`]),
    ...describe('program', findMissingPrograms(bins, env['PATH'] ?? '')),
    ...describe(
      'environment variable',
      variables.filter((name) => !Object.hasOwn(env, name) || (env[name] ?? '') === ''),
    ),
  ];
  return missing.length === 0 ? undefined : missing.join(' and ');
}

function describe(kind: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [`the ${kind}${names.length === 1 ? '' : 's'} ${names.join(', ')}`];
}

function findMissingPrograms(names: readonly string[], path: string): string[] {
  if (names.length === 0) return [];
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return names.filter((name) => !folders.some((folder) => listNames(folder).has(name) && isExecutable(join(folder, name))));
}

const FOLDER_TTL_MS = 10_000;
const MAX_FOLDERS = 100;
const NO_NAMES: ReadonlySet<string> = new Set();
/** Names by folder. Lists of skills check hundreds of names, and a folder is read once for all of them. */
const folderNames = new Map<string, { names: ReadonlySet<string>; readAt: number }>();

function listNames(folder: string): ReadonlySet<string> {
  const known = folderNames.get(folder);
  if (known && performance.now() - known.readAt < FOLDER_TTL_MS) return known.names;
  if (folderNames.size >= MAX_FOLDERS) folderNames.clear();
  const names = readNames(folder);
  folderNames.set(folder, { names, readAt: performance.now() });
  return names;
}

function readNames(folder: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(folder));
  } catch {
    return NO_NAMES;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
