import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { openHistory, operations, readLines, type Entry } from './history.ts';

test('an operation that ends after the run has an unknown outcome', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'history.jsonl');
  const history = openHistory(file);
  const [first, second] = ['a', 'b'].map((session) => history.begin('one', 'read', { session }));
  first?.ok({ messages: [] });
  history[Symbol.dispose]();
  second?.ok({ messages: [] });
  assert.deepEqual(
    operations(readLines<Entry>(file)).map(({ outcome, request, response }) => ({ outcome, request, response })),
    [
      { outcome: 'ok', request: { session: 'a' }, response: { messages: [] } },
      { outcome: 'unknown', request: { session: 'b' }, response: undefined },
    ],
  );
});
