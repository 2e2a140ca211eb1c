import { isDeepStrictEqual } from 'node:util';
import { REDACTED } from '@switchyard/contracts';
import { isTree, type Tree } from '@switchyard/service-kit';
import type * as Diff from 'diff';
import type * as Yaml from 'yaml';
import { redactConfig } from './redact-config.ts';

/** After this time the diff falls back to the whole old and new text. */
const PATIENCE_MS = 500;
const CHANGED = `${REDACTED} (changed)`;

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
  const shownBefore = redactConfig(before);
  const shownAfter = markSecrets({ before, after, shownBefore, shownAfter: redactConfig(after) }) as Tree;
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

interface MarkSecretsOptions {
  before: unknown;
  after: unknown;
  shownBefore: unknown;
  shownAfter: unknown;
}

/** Marks values that differ but look the same after redaction: these are changed secrets. */
function markSecrets({ before, after, shownBefore, shownAfter }: MarkSecretsOptions): unknown {
  if (isTree(after) && isTree(shownAfter)) {
    const entries = Object.entries(shownAfter).map(([key, inner]) => {
      const pair = { before: getChild(before, key), after: after[key], shownBefore: getChild(shownBefore, key), shownAfter: inner };
      return [key, markSecrets(pair)] as const;
    });
    return Object.fromEntries(entries);
  }
  if (Array.isArray(after) && Array.isArray(shownAfter))
    return shownAfter.map((inner: unknown, index) =>
      markSecrets({ before: getChild(before, index), after: after[index], shownBefore: getChild(shownBefore, index), shownAfter: inner }),
    );
  const hidden = typeof shownAfter === 'string' && shownAfter === shownBefore && before !== after;
  return hidden ? shownAfter.replace(REDACTED, CHANGED) : shownAfter;
}

function getChild(value: unknown, key: string | number): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[key] : undefined;
}
