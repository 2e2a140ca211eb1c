import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Configuration } from '@switchyard/contracts';
import { tempDir } from '@switchyard/testkit';
import { resolveLogFile, openLogFile } from './log-file.ts';

const createSettings = (logging: object, logRotation: object = {}) =>
  Configuration.parse({ daemon: { logging }, observability: { logRotation } });

test('logging.filePath selects the log file', () => {
  assert.equal(resolveLogFile(createSettings({}), '/data'), '/data/logs/daemon.log');
  assert.equal(resolveLogFile(createSettings({ filePath: '/var/log/switchyard.log' }), '/data'), '/var/log/switchyard.log');
  assert.equal(resolveLogFile(createSettings({ filePath: 'here.log' }), '/data'), '/data/here.log');
});

/** Writes lines of a hundred bytes and returns the names of the rolled files. */
async function copies(lines: number, settings: ReturnType<typeof createSettings>): Promise<string[]> {
  await using dir = await tempDir();
  const file = openLogFile(settings, dir.path);
  for (let n = 0; n < lines; n++) file.write(`${'x'.repeat(99)}\n`);
  await new Promise((resolve) => file.flush(resolve));
  await file.settled();
  const live = readFileSync(`${dir.path}/logs/daemon.log`, 'utf8');
  assert.ok(live.length > 0);
  return readdirSync(`${dir.path}/logs`).filter((name) => name !== 'daemon.log');
}

test('applies each rotation setting, and the smaller of two limits', async () => {
  assert.equal((await copies(101, createSettings({ maxSize: '1k' }))).length, 5, 'the default number of files');
  assert.equal((await copies(101, createSettings({ maxSize: '1K', maxFiles: 3 }))).length, 3);
  assert.equal((await copies(101, createSettings({ maxSize: '1k' }, { maxFiles: 2 }))).length, 2);
  assert.equal((await copies(101, createSettings({ maxSize: '1m' }))).length, 0);
  assert.equal((await copies(101, createSettings({ maxSize: '1g' }, { maxSizeBytes: 5_000 }))).length, 2);
  assert.equal((await copies(12, createSettings({ maxSize: '1024' }))).filter((name) => name.endsWith('.gz')).length, 0);
  assert.equal((await copies(12, createSettings({ maxSize: '1024', compress: true }))).filter((name) => name.endsWith('.gz')).length, 1);
});
