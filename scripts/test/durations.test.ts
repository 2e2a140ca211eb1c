import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { openDurations } from './durations.ts';

test('openDurations keeps the durations of each suite and drops deleted files', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'cache', 'durations.json');
  const quick = openDurations(path, 'quick');
  quick.set('a.test.ts', 12.4);
  quick.set('gone.test.ts', 1);
  quick.save((file) => file !== 'gone.test.ts');
  const full = openDurations(path, 'full');
  full.set('a.test.ts', 99);
  full.save(() => true);
  const again = openDurations(path, 'quick');
  assert.deepEqual([again.get('a.test.ts'), again.get('gone.test.ts')], [12, undefined]);
});

test('openDurations starts empty when the file is broken', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'durations.json');
  writeFileSync(path, '{');
  assert.equal(openDurations(path, 'quick').get('a.test.ts'), undefined);
});
