import assert from 'node:assert/strict';
import { test } from 'node:test';
import failedFiles, { type TestEvent } from './failed-files.ts';

test('each file with a failure is named once, and no other', async () => {
  const events = async function* (): AsyncGenerator<TestEvent, void, void> {
    yield { type: 'test:pass', data: { file: '/a.test.ts' } };
    for (const file of ['/b.test.ts', '/b.test.ts', '/c.test.ts']) yield { type: 'test:fail', data: { file } };
    yield { type: 'test:fail', data: { file: '/d.test.ts', todo: true } };
    yield { type: 'test:diagnostic', data: {} };
  };
  const lines = [];
  for await (const line of failedFiles(events())) lines.push(line);
  assert.deepEqual(lines, ['/b.test.ts\n', '/c.test.ts\n']);
});
