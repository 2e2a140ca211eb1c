import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { chdir, cwd } from 'node:process';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { claimDataDirectory, keepPrivately, leaveNote, readPrivately } from './data-directory.ts';

test('a directory is made private, and has one owner at a time', async () => {
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

test('what cannot be a directory is a sentence', async () => {
  await using dir = await tempDir();
  writeFileSync(`${dir.path}/file`, '');
  assert.throws(() => claimDataDirectory(`${dir.path}/file/below`), /cannot be used.*SWITCHYARD_DATA=/);
});

test('where a setting put everything elsewhere a note in the usual place says so, until that is used again', async (t) => {
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

test('so is what stands in the way inside of it', async () => {
  await using dir = await tempDir();
  writeFileSync(`${dir.path}/logs`, '');
  assert.throws(() => claimDataDirectory(dir.path), /cannot be used \(EEXIST at .*\/logs\).*SWITCHYARD_DATA=/);
  mkdirSync(`${dir.path}/run.json`);
  assert.throws(() => keepPrivately(dir.path, 'run.json', ''), /cannot be used \(EISDIR at .*\/run\.json\).*SWITCHYARD_DATA=/);
});

test('what is kept is for its user alone, is found again, and takes the place of what was there', async () => {
  await using dir = await tempDir();
  assert.equal(readPrivately(dir.path, 'token'), undefined);
  for (const text of ['one', 'two']) {
    keepPrivately(dir.path, 'token', text);
    assert.equal(readPrivately(dir.path, 'token'), text);
    assert.equal(statSync(`${dir.path}/token`).mode & 0o777, 0o600);
  }
  assert.deepEqual(readdirSync(dir.path), ['token']);
});
