import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { openRunFile, readRunFile } from './run-file.ts';

const process_ = { service: 'embedded', replica: 'r', pid: 1, ports: { http: 1 }, log: '/x' };

test('openRunFile writes the run file and removes it on dispose', async () => {
  await using dir = await tempDir();
  {
    using told = openRunFile(dir.path);
    for (const pid of [1, 2]) {
      const run = { url: 'http://127.0.0.1:1', processes: [{ ...process_, pid }] };
      told.write(run);
      assert.deepEqual(JSON.parse(readFileSync(`${dir.path}/run.json`, 'utf8')), run);
      assert.deepEqual(readRunFile(dir.path), run);
    }
  }
  assert.equal(existsSync(`${dir.path}/run.json`), false);
  assert.equal(readRunFile(dir.path), undefined);
});

test('readRunFile returns undefined for invalid content', async () => {
  await using dir = await tempDir();
  for (const text of ['{"url":', '[]', 'null', '{"url":1,"processes":[]}']) {
    writeFileSync(`${dir.path}/run.json`, text);
    assert.equal(readRunFile(dir.path), undefined, text);
  }
});
