import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { tempDir } from '@switchyard/testkit';
import { createLogger } from '../logger.ts';
import { agedName } from './rotated-file-name.ts';
import { openRollingFile, type RollingFile, type RollingFileOptions } from './rolling-file.ts';

const DAY_MS = 86_400_000;

const options = (file: string, more: Partial<RollingFileOptions> = {}): RollingFileOptions => ({
  file,
  maxBytes: 1_000,
  maxFiles: 5,
  maxAgeDays: 30,
  compress: false,
  compressAged: true,
  ...more,
});

const flushed = (file: RollingFile): Promise<void> => new Promise((resolve, reject) => file.flush((e) => (e ? reject(e) : resolve())));

/** Contents of all copies, oldest first, and of the live file. */
function texts(file: string): string[] {
  const directory = file.slice(0, file.lastIndexOf('/'));
  const copies = readdirSync(directory).filter((name) => `${directory}/${name}`.startsWith(`${file}.`));
  const sorted = copies.toSorted((a, b) => a.replace('.gz', '').localeCompare(b.replace('.gz', ''), 'en', { numeric: true }));
  return [...sorted.map((name) => `${directory}/${name}`), file].map((path) => {
    const bytes = readFileSync(path);
    return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  });
}

test('rotates a full file without losing, doubling or cutting lines', async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/logs/daemon.log`;
  const rolling = openRollingFile(options(file, { maxFiles: 100 }));
  const log = createLogger({ destination: rolling });
  for (let n = 0; n < 100; n++) log.info({ n }, 'ä line');
  await flushed(rolling);
  await rolling.settled();
  const lines = texts(file).join('').trim().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { n: number }).n),
    Array.from({ length: 100 }, (_, n) => n),
  );
  for (const text of texts(file)) assert.ok(Buffer.byteLength(text) < 1_100, 'a line more than is allowed, at the most');
  assert.ok(texts(file).length > 5);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('keeps the newest maxFiles copies', async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/daemon.log`;
  const rolling = openRollingFile(options(file, { maxBytes: 10, maxFiles: 2 }));
  for (let n = 0; n < 9; n++) rolling.write(`line ${n} is long\n`);
  await flushed(rolling);
  await rolling.settled();
  assert.deepEqual(
    texts(file),
    [6, 7, 8].map((n) => `line ${n} is long\n`),
  );
});

test('compresses copies on rotation', async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/daemon.log`;
  const rolling = openRollingFile(options(file, { maxBytes: 10, compress: true }));
  rolling.write('the first of them\n');
  rolling.write('the second of them\n');
  await flushed(rolling);
  await rolling.settled();
  assert.deepEqual(texts(file), ['the first of them\n', 'the second of them\n']);
});

test('appends to an existing file and rotates it once it is full', async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/daemon.log`;
  writeFileSync(file, 'from before\n');
  const rolling = openRollingFile(options(file, { maxBytes: 20 }));
  for (const line of ['goes on here\n', 'and here anew\n']) rolling.write(line);
  await flushed(rolling);
  await rolling.settled();
  assert.deepEqual(texts(file), ['from before\ngoes on here\n', 'and here anew\n']);
});

test('a start compresses and removes old copies and does not touch other files', async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/daemon.log`;
  const at = (days: number): string => agedName(file, new Date(Date.now() - days * DAY_MS));
  for (const days of [1, 2, 3, 31]) writeFileSync(at(days), `${days} days old\n`);
  writeFileSync(`${at(4)}.gz.new`, 'half');
  const others = ['daemon.log.txt', 'daemon.log.20260101', 'other.log', 'notes'];
  for (const name of others) writeFileSync(`${dir.path}/${name}`, 'mine');
  const rolling = openRollingFile(options(file, { maxFiles: 2 }));
  await rolling.settled();
  const ours = readdirSync(dir.path).filter((name) => !others.includes(name));
  assert.equal(ours.filter((name) => name.endsWith('Z.gz')).length, 2);
  assert.equal(ours.length, 3);
  for (const name of others) assert.equal(readFileSync(`${dir.path}/${name}`, 'utf8'), 'mine');
});

test('continues a file that cannot be rotated and reports the problem', async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/logs/daemon.log`;
  const said: string[] = [];
  const rolling = openRollingFile(options(file, { maxBytes: 10, say: (sentence) => said.push(sentence) }));
  rolling.write('a line that fills it\n');
  await flushed(rolling);
  await rolling.settled();
  renameSync(`${dir.path}/logs`, `${dir.path}/elsewhere`);
  rolling.write('one that comes after\n');
  await flushed(rolling);
  assert.match(said.join(), /is written on, though it is full: .*ENOENT/);
  assert.equal(readFileSync(`${dir.path}/elsewhere/daemon.log`, 'utf8'), 'a line that fills it\none that comes after\n');
  mkdirSync(`${dir.path}/logs`);
});

test('a full disk neither throws nor blocks and is reported once', { skip: !existsSync('/dev/full') }, async () => {
  const said: string[] = [];
  using rolling = openRollingFile(options('/dev/full', { say: (sentence) => said.push(sentence) }));
  for (let line = 0; line < 3; line += 1) {
    rolling.write('a line for which there is no room\n');
    await flushed(rolling);
  }
  assert.deepEqual(said, ['/dev/full cannot be written: Error: ENOSPC: no space left on device, write']);
});
