import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { createTree } from './hostile-paths.fixture.ts';
import { raceOpens } from './race.fixture.ts';
import { openSafeDirectory } from './safe-directory.ts';

const RACE_MS = 60_000;

test(
  'opens no file outside during a minute with two racing threads',
  { timeout: 300_000, skip: process.platform !== 'linux' },
  async (t) => {
    await using base = await tempDir();
    const root = createTree(base.path);
    using directory = openSafeDirectory(root);
    const end = performance.now() + RACE_MS;
    const counts = await raceOpens({ base: base.path, root, threads: 2 }, directory.open, () => performance.now() > end);
    t.diagnostic(JSON.stringify(counts));
    assert.equal(counts.outside, 0, JSON.stringify(counts));
  },
);
