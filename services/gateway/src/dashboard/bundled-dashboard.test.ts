import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { bundledDashboard } from './bundled-dashboard.ts';

test('reports a running build, and serves its output when it is in place', async (t) => {
  await using dir = await tempDir();
  const output = join(dir.path, 'dist');
  let now = 0;
  t.mock.method(performance, 'now', () => (now += 1_000));
  const dashboard = bundledDashboard(`${output}/`, { error: () => assert.fail('nothing to log') });
  assert.deepEqual([dashboard.read(), dashboard.isBuilding()], [undefined, false]);
  await writeFile(`${output}.building`, '');
  assert.deepEqual([dashboard.read(), dashboard.isBuilding()], [undefined, true]);
  await mkdir(output);
  await writeFile(join(output, 'index.html'), 'page');
  await rm(`${output}.building`);
  assert.equal(dashboard.read()?.('')?.bytes.toString(), 'page');
  assert.equal(dashboard.isBuilding(), false);
});

test('serves nothing without a directory', () => {
  const dashboard = bundledDashboard(undefined, { error: () => undefined });
  assert.deepEqual([dashboard.read(), dashboard.isBuilding()], [undefined, false]);
});
