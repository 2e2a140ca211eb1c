import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { chdir, cwd } from 'node:process';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { claimDataDirectory, keepPrivately, leaveNote, readPrivately } from './data-directory.ts';

test('claimDataDirectory makes the directory private and locks it', async () => {
  await using dir = await tempDir();
  const data = `${dir.path}/deep/data`;
  {
    using _mine = claimDataDirectory(data);
    assert.equal(statSync(data).mode & 0o777, 0o700);
    assert.throws(() => claimDataDirectory(data), new RegExp(`process ${process.pid}`));
  }
  chmodSync(data, 0o755);
  claimDataDirectory(data)[Symbol.dispose]();
  assert.equal(statSync(data).mode & 0o777, 0o700, 'one that was there, too');
});

test('claimDataDirectory throws a StartError if the path is not a directory', async () => {
  await using dir = await tempDir();
  writeFileSync(`${dir.path}/file`, '');
  assert.throws(() => claimDataDirectory(`${dir.path}/file/below`), /cannot be used.*SWITCHYARD_DATA=/);
});

test('leaveNote writes the note for another data directory and removes it for the default', async (t) => {
  await using dir = await tempDir();
  const before = cwd();
  chdir(dir.path);
  t.after(() => chdir(before));
  leaveNote({ data: 'elsewhere', dataFrom: 'settings' });
  assert.equal(readPrivately('.switchyard', 'data-dir'), `${dir.path}/elsewhere`);
  leaveNote({ data: '/data', dataFrom: 'environment' });
  assert.equal(readPrivately('.switchyard', 'data-dir'), `${dir.path}/elsewhere`);
  leaveNote({ data: '.switchyard', dataFrom: 'default' });
  assert.equal(readPrivately('.switchyard', 'data-dir'), undefined);
  chmodSync('.switchyard', 0o500);
  leaveNote({ data: 'elsewhere', dataFrom: 'settings' }); // and fails nothing
});

test('claimDataDirectory throws a StartError if a path inside cannot be created', async () => {
  await using dir = await tempDir();
  writeFileSync(`${dir.path}/logs`, '');
  assert.throws(() => claimDataDirectory(dir.path), /cannot be used \(EEXIST at .*\/logs\).*SWITCHYARD_DATA=/);
  mkdirSync(`${dir.path}/run.json`);
  assert.throws(() => keepPrivately(dir.path, 'run.json', ''), /cannot be used \(EISDIR at .*\/run\.json\).*SWITCHYARD_DATA=/);
});

test('replaces a private file that only its user can read', async () => {
  await using dir = await tempDir();
  assert.equal(readPrivately(dir.path, 'token'), undefined);
  for (const text of ['one', 'two']) {
    keepPrivately(dir.path, 'token', text);
    assert.equal(readPrivately(dir.path, 'token'), text);
    assert.equal(statSync(`${dir.path}/token`).mode & 0o777, 0o600);
  }
  assert.deepEqual(readdirSync(dir.path), ['token']);
});
