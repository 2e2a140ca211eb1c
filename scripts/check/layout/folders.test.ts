import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLayoutFaults, type SourceFile } from './folders.ts';

const file = (path: string, ...imports: string[]): SourceFile => ({
  path,
  source: imports.map((specifier) => `import type { X } from '${specifier}';`).join('\n'),
});

test('findLayoutFaults reports two folders that import each other, once', () => {
  const files = [file('libs/x/src/a/one.ts', '../b/two.ts'), file('libs/x/src/b/two.ts'), file('libs/x/src/b/three.ts', '../a/one.ts')];
  assert.deepEqual(findLayoutFaults(files), ['libs/x/src/a <-> libs/x/src/b']);
});

test('findLayoutFaults accepts layers, and test code that imports upwards', () => {
  const files = [
    file('libs/x/src/service.ts', './a/one.ts', './b/two.ts'),
    file('libs/x/src/a/one.ts', '../b/two.ts', '@switchyard/bus'),
    file('libs/x/src/b/two.ts'),
    file('libs/x/src/b/two.test.ts', '../a/one.ts'),
  ];
  assert.deepEqual(findLayoutFaults(files), []);
});

test('findLayoutFaults counts production files of a folder and not its tests', () => {
  const files = Array.from({ length: 26 }, (_, index) => [file(`libs/x/src/f${index}.ts`), file(`libs/x/src/f${index}.test.ts`)]).flat();
  assert.deepEqual(findLayoutFaults(files), ['libs/x/src: more than 25 files']);
  assert.deepEqual(findLayoutFaults(files.slice(2)), []);
});
