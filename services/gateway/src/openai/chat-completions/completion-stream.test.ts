import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { ServiceError } from '@switchyard/contracts';
import type { Caller } from '../../request/caller.ts';
import { openCompletionStream } from './completion-stream.ts';
import { RESULT } from '../../turns/turns.fixture.ts';

/** Records the writes to a client that reads only when the test lets it. */
function slowClient() {
  const writes: string[] = [];
  const response = Object.assign(new EventEmitter(), {
    writableNeedDrain: true,
    writableEnded: false,
    destroyed: false,
    writeHead: () => response,
    write: (text: string) => void writes.push(text),
    end(text: string) {
      writes.push(text);
      response.writableEnded = true;
      response.emit('close');
    },
  });
  const failures: ServiceError[] = [];
  const stream = openCompletionStream({
    edge: { tokens: { mayStream: () => true } as never },
    exchange: { logAccess: () => undefined, logFailure: (error: ServiceError) => void failures.push(error) },
    caller: {} as Caller,
    response: response as unknown as ServerResponse,
    head: { id: 'c', created: 1, model: 'm' },
    includeUsage: false,
    headers: [],
  });
  return { writes, failures, stream, response };
}

const readContents = (chunks: string): string[] => [...chunks.matchAll(/"content":"([^"]*)"/g)].map(([, text = '']) => text);

test('sends pending text of a slow client in one chunk before the end', () => {
  for (const ending of ['finish', 'fail'] as const) {
    const { writes, failures, stream } = slowClient();
    stream.text('one ');
    stream.text('two');
    assert.equal(writes.length, 1, 'only the role chunk');
    if (ending === 'finish') stream.finish(RESULT);
    else stream.fail(new Error('internal'));
    const [, last = ''] = writes;
    assert.deepEqual(readContents(last), ['one two']);
    assert.equal(last.includes('"finish_reason":"stop"'), ending === 'finish');
    assert.ok(last.endsWith('data: [DONE]\n\n'));
    assert.deepEqual(
      failures.map(({ code }) => code),
      ending === 'finish' ? [] : ['INTERNAL'],
    );
  }
});

test('writes all chunks of one callback at once', async () => {
  const { writes, stream, response } = slowClient();
  response.writableNeedDrain = false;
  stream.text('one');
  stream.text('two');
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(writes.slice(1).map(readContents), [['one', 'two']]);
  stream.finish(RESULT);
});
