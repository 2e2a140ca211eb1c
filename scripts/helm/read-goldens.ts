import { readFileSync } from 'node:fs';
import { DEFAULT_SET, goldenPath, parseObjects, type KubernetesObject } from './render.ts';

const NOT_RENDERED = /^# not rendered: (.*)$/gm;
/** YAML of thousands of lines is parsed once. */
const parsed = new Map<string, readonly KubernetesObject[]>();

/** Returns the objects that a set of values renders: those of its golden, and those of the default set that are equal. */
export function readGolden(set: string): readonly KubernetesObject[] {
  const objects = parsed.get(set) ?? parseGolden(set);
  parsed.set(set, objects);
  return objects;
}

function parseGolden(set: string): KubernetesObject[] {
  const text = readFileSync(goldenPath(set), 'utf8');
  const own = parseObjects(text);
  if (set === DEFAULT_SET) return own;
  const replaced = new Set([...own.map(identify), ...[...text.matchAll(NOT_RENDERED)].map(([, id = '']) => id)]);
  return [...readGolden(DEFAULT_SET).filter((object) => !replaced.has(identify(object))), ...own];
}

function identify({ kind, metadata }: KubernetesObject): string {
  return `${metadata.name} ${kind}`;
}
