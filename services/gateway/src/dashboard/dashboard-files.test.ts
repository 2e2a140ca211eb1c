import assert from 'node:assert/strict';
import { rmSync, symlinkSync } from 'node:fs';
import { mkdir, rename, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { readDashboard } from './dashboard-files.ts';

const MAX_ENTRIES = 2_000;

test('reads a directory with 2,000 entries and refuses one with an entry more', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'index.html'), 'page');
  for (let n = 1; n < MAX_ENTRIES; n += 1) await writeFile(join(dir.path, `${n}.txt`), '');
  assert.ok(readDashboard(dir.path)(`${MAX_ENTRIES - 1}.txt`));
  await writeFile(join(dir.path, `${MAX_ENTRIES}.txt`), '');
  assert.throws(() => readDashboard(dir.path), /gateway\.web\.path: .* has more than 2000 entries or takes more than 2 s to read/);
});

test('stops to read a directory after two seconds', async (t) => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'index.html'), 'page');
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  assert.ok(readDashboard(dir.path)(''));
  t.mock.method(performance, 'now', () => (now += 2_001));
  assert.throws(() => readDashboard(dir.path), /takes more than 2 s to read/);
});

test('follows no link to a file or a directory, inside or outside of the directory', async () => {
  await using dir = await tempDir();
  const [root, outside] = [join(dir.path, 'root'), join(dir.path, 'outside')];
  await mkdir(join(root, 'assets'), { recursive: true });
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), 'not to be had');
  await writeFile(join(root, 'index.html'), 'page');
  await writeFile(join(root, 'assets/main.js'), 'export {};');
  await symlink(join(outside, 'secret.txt'), join(root, 'secret.txt'));
  await symlink(outside, join(root, 'outside'));
  await symlink(root, join(root, 'assets/loop'));
  await symlink('main.js', join(root, 'assets/alias.js'));
  const dashboard = readDashboard(root);
  for (const path of ['secret.txt', 'outside/secret.txt', 'assets/loop/index.html', 'assets/alias.js'])
    assert.equal(dashboard(path), undefined);
  assert.ok(dashboard('assets/main.js'));
  await rename(join(root, 'index.html'), join(outside, 'index.html'));
  await symlink(join(outside, 'index.html'), join(root, 'index.html'));
  assert.throws(() => readDashboard(root), /contains no index\.html/);
});

test('skips a file that was replaced by a link after it was listed', async (t) => {
  await using dir = await tempDir();
  const [root, outside] = [join(dir.path, 'root'), join(dir.path, 'secret.txt')];
  await mkdir(root);
  await writeFile(outside, 'not to be had');
  for (const name of ['index.html', 'a.txt', 'b.txt']) await writeFile(join(root, name), name);
  let calls = 0;
  // The deadline reads the clock first. The next reading is after the directory has been read.
  t.mock.method(performance, 'now', () => {
    if (++calls === 2)
      for (const name of ['a.txt', 'b.txt']) {
        rmSync(join(root, name));
        symlinkSync(outside, join(root, name));
      }
    return 0;
  });
  const dashboard = readDashboard(root);
  assert.ok(calls > 2);
  assert.ok(dashboard('index.html'));
  assert.deepEqual([dashboard('a.txt'), dashboard('b.txt')], [undefined, undefined]);
});

test('refuses a directory with more than 64 MiB', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'index.html'), '');
  await writeFile(join(dir.path, 'large.bin'), '');
  await truncate(join(dir.path, 'large.bin'), 64 * 1024 * 1024 + 1);
  assert.throws(() => readDashboard(dir.path), /gateway\.web\.path: .* exceeds 67108864 bytes/);
});
