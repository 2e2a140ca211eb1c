import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { publicMethods } from '@switchyard/contracts';

interface Promised {
  method: string;
  scope: string;
  service: string;
}

/** The names the product adds to the interface. */
const EXTRAS = ['skills.create', 'skills.delete', 'skills.import', 'skills.list', 'skills.update', 'skills.upload'];

const promised = JSON.parse(await readFile(new URL('./methods.json', import.meta.url), 'utf8')) as Promised[];

test('the interface promises 174 methods', () => {
  assert.equal(promised.length, 174);
  assert.equal(new Set(promised.map(({ method }) => method)).size, 174);
});

test('every promised method is declared, and nothing else but the skills', () => {
  const names = promised.map(({ method }) => method);
  assert.deepEqual([...publicMethods.keys()].sort(), [...names, ...EXTRAS].sort());
});

test('every method has the scope and the owner that were promised', () => {
  const declared = promised.map(({ method }) => {
    const callable = publicMethods.get(method);
    return { method, scope: callable?.scope, service: callable?.service };
  });
  assert.deepEqual(declared, promised);
});
