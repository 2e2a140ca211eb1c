import assert from 'node:assert/strict';
import { closeSync, constants, existsSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { createTree, INSIDE, listHostilePaths, OUTSIDE } from './hostile-paths.fixture.ts';
import { raceOpens } from './race.fixture.ts';
import { UnsafePathError } from './relative-path.ts';
import { openSafeDirectory } from './safe-directory.ts';

const { O_CREAT, O_EXCL, O_TRUNC, O_WRONLY } = constants;
const MIN_RACING_OPENS = 3_000;

function read(descriptor: number): string {
  try {
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

test('opens files of the directory and of its subdirectories', async () => {
  await using base = await tempDir();
  using directory = openSafeDirectory(createTree(base.path));
  for (const path of ['file', 'sub/file', 'sub/deep/file']) assert.equal(read(directory.open(path)), INSIDE, path);
});

test('creates and replaces a file with the flags of the caller', async () => {
  await using base = await tempDir();
  const root = createTree(base.path);
  using directory = openSafeDirectory(root);
  for (const [path, flags] of [
    ['sub/new', O_WRONLY | O_CREAT | O_EXCL],
    ['file', O_WRONLY | O_TRUNC],
  ] as const) {
    const descriptor = directory.open(path, flags);
    writeSync(descriptor, 'written');
    closeSync(descriptor);
    assert.equal(readFileSync(join(root, path), 'utf8'), 'written');
  }
  assert.throws(() => directory.open('sub/new', O_WRONLY | O_CREAT | O_EXCL), { code: 'EEXIST' });
});

test('opens none of 300 hostile paths, for reading and for writing', async () => {
  await using base = await tempDir();
  const root = createTree(base.path);
  const paths = listHostilePaths(base.path);
  assert.ok(new Set(paths).size >= 300, String(new Set(paths).size));
  using directory = openSafeDirectory(root);
  for (const path of paths) {
    assert.throws(
      () => read(directory.open(path)),
      (error: NodeJS.ErrnoException) => error instanceof UnsafePathError || error.code === 'ENOENT',
      path,
    );
    assert.throws(() => closeSync(directory.open(path, O_WRONLY | O_TRUNC)), Error, path);
  }
  for (const file of ['secret', 'root-sibling/secret']) assert.equal(readFileSync(join(base.path, file), 'utf8'), OUTSIDE);
  for (const file of ['file', 'sub/file', 'sub/deep/file']) assert.equal(readFileSync(join(root, file), 'utf8'), INSIDE);
});

test('creates no file outside through a link', async () => {
  await using base = await tempDir();
  using directory = openSafeDirectory(createTree(base.path));
  for (const path of ['link-up/created', 'sub/link-up/created', 'link-sibling/created', 'link-chain/created', '../created']) {
    assert.throws(() => directory.open(path, O_WRONLY | O_CREAT), UnsafePathError, path);
  }
  for (const path of ['created', 'root-sibling/created']) assert.equal(existsSync(join(base.path, path)), false);
});

test('closes every handle that it opened for a path', async () => {
  await using base = await tempDir();
  using directory = openSafeDirectory(createTree(base.path));
  const first = directory.open('file');
  closeSync(first);
  for (const path of ['sub/deep/file', 'sub/deep/missing', 'sub/deep/link-file', 'sub/link-up/secret', 'pipe']) {
    try {
      closeSync(directory.open(path));
    } catch {
      // the next descriptor shows whether one was left open
    }
  }
  const last = directory.open('file');
  closeSync(last);
  assert.equal(last, first);
});

test(
  'opens no file outside while a thread replaces directories and files by links',
  { timeout: 60_000, skip: process.platform !== 'linux' },
  async () => {
    await using base = await tempDir();
    const root = createTree(base.path);
    using directory = openSafeDirectory(root);
    // Ends when both outcomes were seen, so that the race has happened.
    const counts = await raceOpens(
      { base: base.path, root, threads: 1 },
      directory.open,
      ({ inside, refused, missing }) => inside + refused + missing >= MIN_RACING_OPENS && inside > 0 && refused > 0,
    );
    assert.equal(counts.outside, 0, JSON.stringify(counts));
  },
);
