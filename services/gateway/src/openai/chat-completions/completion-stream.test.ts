import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { ServiceError } from '@switchyard/contracts';
import type { Caller } from '../../request/caller.ts';
import { openCompletionStream } from './completion-stream.ts';
import { RESULT } from '../../turns/turns.fixture.ts';

/** A client that reads when the test lets it, and what was written to it, write by write. */
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

const contents = (written: string): string[] => [...written.matchAll(/"content":"([^"]*)"/g)].map(([, text = '']) => text);

test('text that waits for a slow client is told before the end, in one chunk', () => {
  for (const how of ['finish', 'fail'] as const) {
    const { writes, failures, stream } = slowClient();
    stream.text('one ');
    stream.text('two');
    assert.equal(writes.length, 1, 'the role alone');
    if (how === 'finish') stream.finish(RESULT);
    else stream.fail(new Error('of ours'));
    const [, last = ''] = writes;
    assert.deepEqual(contents(last), ['one two']);
    assert.equal(last.includes('"finish_reason":"stop"'), how === 'finish');
    assert.ok(last.endsWith('data: [DONE]\n\n'));
    assert.deepEqual(
      failures.map(({ code }) => code),
      how === 'finish' ? [] : ['INTERNAL'],
    );
  }
});

test('writes all chunks of one callback at once', async () => {
  const { writes, stream, response } = slowClient();
  response.writableNeedDrain = false;
  stream.text('one');
  stream.text('two');
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(writes.slice(1).map(contents), [['one', 'two']]);
  stream.finish(RESULT);
});
