import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifyFile, isSameInQuick, sharesCluster } from './classify-file.ts';

const classify = (files: Record<string, string>, clusters = true): string =>
  classifyFile(Object.keys(files)[0] ?? '', { read: (file) => files[file], clusters });

test('classifyFile lets files that only compute share a process', () => {
  assert.equal(classify({ 'libs/a/src/a.test.ts': "import { a } from './a.ts';\ntest('a', () => process.env['HOME']);" }), 'shared');
});

test('classifyFile gives files that start or change something a process of their own', () => {
  for (const text of [
    "import { spawn } from 'node:child_process';",
    'const nats = await startNatsServer();',
    "import { mock, test } from 'node:test';",
    "process.env['A'] = 'b';",
    "delete process.env['A'];",
    "process.on('warning', note);",
    'globalThis.fetch = fake;',
    'before(async () => {});',
    "import { storeContract } from '@switchyard/store/store.contract.ts';",
    '// own process: measures the heap',
  ])
    assert.equal(classify({ 'libs/a/src/a.test.ts': text }), 'own', text);
});

test('classifyFile accepts hooks within a suite and comparisons of the environment', () => {
  assert.equal(
    classify({ 'a.test.ts': "describe('a', () => {\n  before(() => {});\n});\nif (process.env['A'] === 'b') run();" }),
    'shared',
  );
});

test('classifyFile reads helpers of tests, but not the code they test', () => {
  const spawns = "import { spawn } from 'node:child_process';";
  assert.equal(classify({ 'libs/a/a.test.ts': "import { a } from './a.fixture.ts';", 'libs/a/a.fixture.ts': spawns }), 'own');
  assert.equal(classify({ 'libs/a/a.test.ts': "import { a } from './a.ts';", 'libs/a/a.ts': spawns }), 'shared');
  assert.equal(
    classify({ 'tests/a/a.test.ts': "import { b } from '../b.ts';", 'tests/b.ts': "import './a/a.test.ts';\n" + spawns }),
    'own',
  );
});

test('classifyFile counts a suite on each profile as a cluster only where clusters run', () => {
  const files = {
    'tests/e2e/a.test.ts': "import { onEachProfile } from './profiles.ts';\nonEachProfile('a', define);",
    'tests/e2e/profiles.ts': 'startProduct',
  };
  assert.equal(classify(files), 'cluster');
  assert.equal(classify({ ...files, 'tests/e2e/profiles.ts': 'await startProcess()' }, false), 'own');
});

test('classifyFile lets a file that measures times run alone', () => {
  assert.equal(classify({ 'a.full.test.ts': "// alone: measures how soon work starts\nimport './b.ts';" }), 'alone');
});

test('sharesCluster finds suites that use the cluster of the test run', () => {
  assert.equal(
    sharesCluster('a', () => '{ shareCluster: true }'),
    true,
  );
  assert.equal(
    sharesCluster('a', () => '{}'),
    false,
  );
});

test('isSameInQuick excludes full files, clusters and tests that read the suite', () => {
  const isSame = (file: string, text: string): boolean => isSameInQuick(file, (path) => (path === file ? text : undefined));
  assert.equal(isSame('a.test.ts', "test('a', () => {});"), true);
  assert.equal(isSame('a.full.test.ts', "test('a', () => {});"), false);
  assert.equal(isSame('a.test.ts', "onEachProfile('a', define);"), false);
  assert.equal(isSame('a.test.ts', 'const seeds = isQuick() ? 10 : 100;'), false);
});
