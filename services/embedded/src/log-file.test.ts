import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Configuration } from '@switchyard/contracts';
import { tempDir } from '@switchyard/testkit';
import { logFileOf, openLogFile } from './log-file.ts';

const settingsOf = (logging: object, logRotation: object = {}) =>
  Configuration.parse({ daemon: { logging }, observability: { logRotation } });

test('the file stands where the settings say', () => {
  assert.equal(logFileOf(settingsOf({}), '/data'), '/data/logs/daemon.log');
  assert.equal(logFileOf(settingsOf({ filePath: '/var/log/switchyard.log' }), '/data'), '/var/log/switchyard.log');
  assert.equal(logFileOf(settingsOf({ filePath: 'here.log' }), '/data'), '/data/here.log');
});

/** How many copies there are of so many lines of a hundred bytes, and what they are called. */
async function copies(lines: number, settings: ReturnType<typeof settingsOf>): Promise<string[]> {
  await using dir = await tempDir();
  const file = openLogFile(settings, dir.path);
  for (let n = 0; n < lines; n++) file.write(`${'x'.repeat(99)}\n`);
  await new Promise((resolve) => file.flush(resolve));
  await file.settled();
  const live = readFileSync(`${dir.path}/logs/daemon.log`, 'utf8');
  assert.ok(live.length > 0);
  return readdirSync(`${dir.path}/logs`).filter((name) => name !== 'daemon.log');
}

test('each setting counts, and of two that say the same thing the smaller one', async () => {
  assert.equal((await copies(101, settingsOf({ maxSize: '1k' }))).length, 5, 'as many as are kept unless it is said');
  assert.equal((await copies(101, settingsOf({ maxSize: '1K', maxFiles: 3 }))).length, 3);
  assert.equal((await copies(101, settingsOf({ maxSize: '1k' }, { maxFiles: 2 }))).length, 2);
  assert.equal((await copies(101, settingsOf({ maxSize: '1m' }))).length, 0);
  assert.equal((await copies(101, settingsOf({ maxSize: '1g' }, { maxSizeBytes: 5_000 }))).length, 2);
  assert.equal((await copies(12, settingsOf({ maxSize: '1024' }))).filter((name) => name.endsWith('.gz')).length, 0);
  assert.equal((await copies(12, settingsOf({ maxSize: '1024', compress: true }))).filter((name) => name.endsWith('.gz')).length, 1);
});
