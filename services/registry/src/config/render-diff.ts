import { isDeepStrictEqual } from 'node:util';
import type { Tree } from '@switchyard/service-kit';
import type * as Diff from 'diff';
import type * as Yaml from 'yaml';
import { redactBoth } from './mark-secrets.ts';

/** After this time the diff falls back to the whole old and new text. */
const PATIENCE_MS = 500;

/**
 * Renders the changes as a unified diff of YAML by section. Secrets are redacted, and changed secrets are marked. The libraries are
 * loaded on first use, because most processes never render a diff.
 */
export async function renderDiff(before: Tree, after: Tree): Promise<string> {
  const [{ createTwoFilesPatch, FILE_HEADERS_ONLY }, { stringify }] = await Promise.all([import('diff'), import('yaml')]);
  const writers = { createTwoFilesPatch, FILE_HEADERS_ONLY, stringify };
  const sections = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return sections
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => renderSection(writers, name, { before: only(before, name), after: only(after, name) }))
    .join('');
}

function only(tree: Tree, name: string): Tree {
  return Object.hasOwn(tree, name) ? { [name]: tree[name] } : {};
}

type Writers = Pick<typeof Diff, 'createTwoFilesPatch' | 'FILE_HEADERS_ONLY'> & Pick<typeof Yaml, 'stringify'>;

function renderSection(writers: Writers, name: string, { before, after }: { before: Tree; after: Tree }): string {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = writers;
  const { shownBefore, shownAfter } = redactBoth(before, after);
  const [from, to] = [toYaml(writers, shownBefore[name]), toYaml(writers, shownAfter[name])];
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY };
  const [a, b] = [`a/${name}`, `b/${name}`];
  const patch = createTwoFilesPatch(a, b, from, to, undefined, undefined, { ...options, timeout: PATIENCE_MS });
  return patch ?? replaceAll(`--- ${a}\n+++ ${b}\n`, from, to);
}

function toYaml({ stringify }: Pick<Writers, 'stringify'>, value: unknown): string {
  return value === undefined ? '' : stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, sortMapEntries: true });
}

function replaceAll(header: string, from: string, to: string): string {
  const [removed, added] = [lines(from), lines(to)];
  const range = (count: number): string => `${count === 0 ? 0 : 1},${count}`;
  const hunk = `@@ -${range(removed.length)} +${range(added.length)} @@\n`;
  return header + hunk + [...removed.map((line) => `-${line}\n`), ...added.map((line) => `+${line}\n`)].join('');
}

function lines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
