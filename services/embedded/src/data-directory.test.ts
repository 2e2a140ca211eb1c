import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkToken } from '@switchyard/security';
import { tempDir } from '@switchyard/testkit';
import { claimDataDirectory, firstToken, writeRunFile } from './data-directory.ts';

test('the first token is minted once, kept for its user alone, and found again', async () => {
  await using dir = await tempDir();
  const token = firstToken(dir.path, undefined);
  assert.equal(checkToken(token), 'valid');
  assert.equal(statSync(`${dir.path}/token`).mode & 0o777, 0o600);
  assert.equal(firstToken(dir.path, undefined), token);
});

test('a token of the operator takes its place', async () => {
  await using dir = await tempDir();
  firstToken(dir.path, undefined);
  const chosen = 'o'.repeat(40);
  assert.equal(firstToken(dir.path, chosen), chosen);
  assert.equal(readFileSync(`${dir.path}/token`, 'utf8').trim(), chosen);
});

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

test('so is what stands in the way inside of it', async () => {
  await using dir = await tempDir();
  writeFileSync(`${dir.path}/logs`, '');
  assert.throws(() => claimDataDirectory(dir.path), /cannot be used \(EEXIST at .*\/logs\).*SWITCHYARD_DATA=/);
  mkdirSync(`${dir.path}/run.json`);
  assert.throws(() => writeRunFile(dir.path, { url: '', processes: [] }), /cannot be used \(EISDIR at .*\/run\.json\).*SWITCHYARD_DATA=/);
});

test('what runs is told while it runs', async () => {
  await using dir = await tempDir();
  const run = { url: 'http://127.0.0.1:1', processes: [{ service: 'embedded', replica: 'r', pid: 1, ports: { http: 1 }, log: '/x' }] };
  {
    using _told = writeRunFile(dir.path, run);
    assert.deepEqual(JSON.parse(readFileSync(`${dir.path}/run.json`, 'utf8')), run);
  }
  assert.equal(existsSync(`${dir.path}/run.json`), false);
});
