import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { children, endOverdue } from './overdue-files.ts';

test('a file whose loop never ends is ended, named, and reported as failed; the others are not', async () => {
  await using dir = await tempDir();
  const [spins, passes] = ['spins', 'passes'].map((name) => join(dir.path, `${name}.test.ts`)) as [string, string];
  const turn = "import { test } from 'node:test';\n";
  writeFileSync(spins, `${turn}test('over at once', () => { void (async () => { for (;;) await undefined; })(); });`);
  writeFileSync(passes, `${turn}test('passes', () => undefined);`);
  const report = join(dir.path, 'failed');
  const flags = ['--test', `--test-reporter=${import.meta.dirname}/failed-files.ts`, `--test-reporter-destination=${report}`];
  // A runner inside a runner would run nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const runner = spawn(process.execPath, [...flags, spins, passes], { env, stdio: 'ignore' });
  const named: string[] = [];
  using _overdue = endOverdue(runner, 1_000, (file) => named.push(file));
  const [code] = (await once(runner, 'exit')) as [number | null];
  assert.deepEqual({ code, named, failed: readFileSync(report, 'utf8') }, { code: 1, named: [spins], failed: `${spins}\n` });
});

test('of what runs only the files of this runner count', () => {
  const listing = '  7 5 node --test a.test.ts\n 8 6 node b.test.ts\n 19 5 node --flag /x/c.test.ts \n 20 5 mongod --dbpath d\n';
  assert.deepEqual(children(listing, 5), [
    { pid: 7, file: 'a.test.ts' },
    { pid: 19, file: '/x/c.test.ts' },
  ]);
});
