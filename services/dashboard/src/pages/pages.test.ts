import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { contracts } from '@switchyard/contracts';
import { pages } from './pages.ts';
import { NAMESPACES_WITHOUT_PAGE, PARTLY_ON_PAGES } from './methods-without-page.ts';

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

test('a page declares exactly the methods that its file calls', async () => {
  const calls = /(?:useCall|call|change)\(\s*'([a-zA-Z_]+(?:\.[a-zA-Z_]+)+)'/g;
  for (const { load, title, needs, wants = [] } of pages) {
    const [, file = ''] = /import\('\.\/(\w+\.tsx)'\)/.exec(load.toString()) ?? [];
    const source = await readFile(new URL(file, import.meta.url), 'utf8');
    const called = new Set(source.matchAll(calls).map(([, method]) => method));
    // The client streams a chat over a route of its own.
    if (source.includes('.chat(')) called.add('agent.stream').add('agent.cancel');
    assert.deepEqual(called, new Set<string>([...needs, ...wants]), title);
  }
});
