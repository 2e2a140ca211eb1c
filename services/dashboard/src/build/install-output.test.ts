import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { installOutput, isBuiltFrom } from './install-output.ts';

let directory: string;
let output: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'install-output-'));
  output = join(directory, 'dist');
});
after(() => rm(directory, { recursive: true, force: true }));

async function build(name: string): Promise<string> {
  const path = join(directory, `dist.${name}`);
  await mkdir(path);
  await writeFile(join(path, 'index.html'), name);
  return path;
}

const readPage = (): Promise<string> => readFile(join(output, 'index.html'), 'utf8');

test('installs the first build, replaces it by one of other sources, and leaves nothing else', async () => {
  await installOutput(await build('first'), output, 'a');
  assert.equal(await readPage(), 'first');
  await installOutput(await build('second'), output, 'b');
  assert.deepEqual([await readPage(), await isBuiltFrom(output, 'b'), await isBuiltFrom(output, 'a')], ['second', true, false]);
  assert.deepEqual(await readdir(directory), ['dist']);
});

test('keeps an output of the same sources, which may be in use', async () => {
  const { ino } = await stat(output);
  await installOutput(await build('third'), output, 'b');
  assert.deepEqual([await readPage(), (await stat(output)).ino], ['second', ino]);
  assert.deepEqual(await readdir(directory), ['dist']);
});

test('builds that end at the same time leave one complete output', async () => {
  const builds = await Promise.all(Array.from({ length: 8 }, (_, n) => build(String(n))));
  await Promise.all(builds.map((path) => installOutput(path, output, 'c')));
  assert.match(await readPage(), /^[0-7]$/);
  assert.ok(await isBuiltFrom(output, 'c'));
  assert.deepEqual(await readdir(directory), ['dist']);
});

test('fails if the build does not exist', async () => {
  await assert.rejects(installOutput(join(directory, 'missing'), output, 'd'), { code: 'ENOENT' });
  assert.ok(await isBuiltFrom(output, 'c'));
});
