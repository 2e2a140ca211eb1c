import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRunFile } from './run-file.ts';

const process_ = { service: 'sessions', replica: 'sessions-1', pid: 7, ports: { http: 1 }, log: '/x' };

test('a run file is what was written, less what has another shape', () => {
  const run = { url: 'http://127.0.0.1:5000', processes: [process_] };
  assert.deepEqual(parseRunFile(JSON.stringify(run)), run);
  const half = { ...run, processes: [{ ...process_, pid: 'seven' }, null, process_, { ...process_, ports: [] }] };
  assert.deepEqual(parseRunFile(JSON.stringify(half)), run);
  assert.deepEqual(parseRunFile('{"url":"http://127.0.0.1:5000"}'), { ...run, processes: [] });
});

test('parseRunFile returns undefined for incomplete or foreign files', () => {
  for (const text of ['', '{"url":', '[]', 'null', '{"url":5,"processes":[]}', '{"url":"nonsense","processes":[]}'])
    assert.equal(parseRunFile(text), undefined, text);
});
