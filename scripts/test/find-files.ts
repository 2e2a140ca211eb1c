import { globSync } from 'node:fs';
import type { Suite } from './options.ts';

const ALL = '{libs,services,tests,scripts,bench,deploy}/**/*.test.ts';

/** Suffixes of files that belong to one suite only. All other test files belong to `quick` and `full`. */
const SUFFIXES: Readonly<Record<Exclude<Suite, 'quick'>, string>> = {
  full: '.full.test.ts',
  docker: '.docker.test.ts',
};
/** `make kube-test` runs these files, inside the network of a Kubernetes. */
const OWN_RUNNER = '.kube.test.ts';

/** Returns the test files of a suite, sorted. Patterns narrow the files but do not extend the suite, unless they name one file. */
export function findFiles(suite: Suite, patterns: readonly string[]): string[] {
  const files = (patterns.length === 0 ? [ALL] : patterns).flatMap((pattern) =>
    globSync(pattern, { exclude: (path) => path.includes('node_modules') || path.includes('fixtures') }),
  );
  return [...new Set(files)].filter((file) => patterns.includes(file) || belongsTo(file, suite)).toSorted();
}

/** Whether a test file runs in a suite, by its name. */
export function belongsTo(file: string, suite: Suite): boolean {
  if (file.endsWith(OWN_RUNNER)) return false;
  const [own] = Object.entries(SUFFIXES).find(([, suffix]) => file.endsWith(suffix)) ?? [];
  if (own === undefined) return suite === 'quick' || suite === 'full';
  return own === suite;
}
