import assert from 'node:assert/strict';
import { test } from 'node:test';
import { belongsTo, findFiles } from './find-files.ts';

test('belongsTo leaves slow files to the full suite and Docker files to their own', () => {
  const files = ['a.test.ts', 'a.full.test.ts', 'a.docker.test.ts', 'a.kube.test.ts'];
  assert.deepEqual(
    files.map((file) => (['quick', 'full', 'docker'] as const).filter((suite) => belongsTo(file, suite))),
    [['quick', 'full'], ['full'], ['docker'], []],
  );
});

test('findFiles runs a file that is named in any suite, and narrows a suite by patterns', () => {
  assert.deepEqual(findFiles('quick', ['tests/chaos/guard.full.test.ts']), ['tests/chaos/guard.full.test.ts']);
  assert.deepEqual(findFiles('quick', ['scripts/test/{find-files,options}.test.ts', 'tests/chaos/guard.full.*']), [
    'scripts/test/find-files.test.ts',
    'scripts/test/options.test.ts',
  ]);
});
