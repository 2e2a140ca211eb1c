import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { contracts } from '@switchyard/contracts';
import { NAMESPACES_WITHOUT_PAGE, PARTLY_ON_PAGES } from './methods-without-page.ts';
import type { Page } from './page.ts';

const HERE = fileURLToPath(new URL('./', import.meta.url));
const FOLDERS = globSync('*/page.ts', { cwd: HERE }).map((file) => dirname(file));
const pages = await Promise.all(
  FOLDERS.map(async (folder) => ({ folder, ...((await import(`./${folder}/page.ts`)) as { page: Page }).page })),
);
const METHODS = Object.values(contracts).flatMap(({ methods }) => Object.keys(methods));
const used = new Set<string>(pages.flatMap(({ needs, wants = [] }) => [...needs, ...wants]));
const getNamespace = (method: string): string => method.slice(0, method.lastIndexOf('.'));

test('every method has a page, or a reason why none uses it', () => {
  const unexplained = METHODS.filter((method) => {
    const namespace = getNamespace(method);
    return !used.has(method) && !(namespace in NAMESPACES_WITHOUT_PAGE) && !(namespace in PARTLY_ON_PAGES);
  });
  assert.deepEqual(unexplained, []);
});

test('every reason belongs to a namespace that exists, and to one table only', () => {
  const namespaces = new Set(METHODS.map(getNamespace));
  const usedNamespaces = new Set([...used].map(getNamespace));
  for (const namespace of Object.keys(NAMESPACES_WITHOUT_PAGE))
    assert.ok(namespaces.has(namespace) && !usedNamespaces.has(namespace), namespace);
  for (const namespace of Object.keys(PARTLY_ON_PAGES)) assert.ok(usedNamespaces.has(namespace), namespace);
});

test('paths, titles and positions of pages are unique', () => {
  for (const key of ['path', 'title', 'order'] as const) assert.equal(new Set(pages.map((page) => page[key])).size, pages.length, key);
});

test('a page declares exactly the methods that its folder and its shared parts call', () => {
  const calls = /(?:useCall|useAction|call|change)\(\s*'([a-zA-Z_]+(?:\.[a-zA-Z0-9_]+)+)'/g;
  for (const { folder, title, needs, wants = [] } of pages) {
    const sources = readSources(globSync(`${folder}/*.{ts,tsx}`, { cwd: HERE }).map((file) => join(HERE, file)));
    const called = new Set(sources.flatMap((source) => [...source.matchAll(calls)].map(([, method]) => method)));
    // The client streams a chat over a route of its own.
    if (sources.some((source) => source.includes('.chat('))) called.add('agent.stream').add('agent.cancel');
    assert.deepEqual(called, new Set<string>([...needs, ...wants]), title);
  }
});

/** Reads files and the parts that they import, without the tests. */
function readSources(files: readonly string[]): string[] {
  const seen = new Set<string>();
  const pending = files.filter((file) => !file.endsWith('.test.ts'));
  const sources: string[] = [];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (seen.has(file) || file.includes('/session/')) continue;
    seen.add(file);
    const source = readFileSync(file, 'utf8');
    sources.push(source);
    for (const [, path = ''] of source.matchAll(/(?:from|import\()\s*'(\.{1,2}\/[^']+\.tsx?)'/g)) pending.push(join(dirname(file), path));
  }
  return sources;
}
