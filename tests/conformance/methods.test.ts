import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { publicMethods, type MethodSpec } from '@switchyard/contracts';

interface Promised {
  method: string;
  scope: string;
  service: string;
}

const promised = JSON.parse(await readFile(new URL('./methods.json', import.meta.url), 'utf8')) as Promised[];

test('the interface promises 174 methods', () => {
  assert.equal(promised.length, 174);
  assert.equal(new Set(promised.map(({ method }) => method)).size, 174);
});

test('every method of the interface is declared, and every other method is marked `beyond`', () => {
  const names = new Set(promised.map(({ method }) => method));
  const saying = [...publicMethods.values()].filter(({ spec }) => (spec as MethodSpec).beyond).map(({ name }) => name as string);
  const besides = [...publicMethods.keys()].filter((name) => !names.has(name));
  assert.deepEqual(
    [...names].filter((name) => !publicMethods.has(name)),
    [],
    'promised and not declared',
  );
  assert.deepEqual(
    besides.filter((name) => !saying.includes(name)),
    [],
    'not in the interface: spelled wrongly, or lacks `beyond: true`',
  );
  assert.deepEqual(
    saying.filter((name) => names.has(name)),
    [],
    'in the interface, so `beyond: true` is wrong',
  );
});

test('every method has the scope and the service of the interface', () => {
  const declared = promised.map(({ method }) => {
    const callable = publicMethods.get(method);
    return { method, scope: callable?.scope, service: callable?.service };
  });
  assert.deepEqual(declared, promised);
});
