import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INLINE_BYTES, type TurnFrame } from '@switchyard/contracts';
import { truncateText, splitFrame, splitText, type FrameBody } from './frame-splitting.ts';

const tokensUsed = { input: 1, output: 1, total: 2 };
/** Characters with the longest JSON encoding, and surrogate pairs. */
const WORST = ['\u0000', '\ud800', 'é', '🎈', `x${'🎈'.repeat(9)}`].map((text) => text.repeat(200_000 / text.length));

const getBytes = (body: FrameBody): number =>
  Buffer.byteLength(JSON.stringify({ n: Number.MAX_SAFE_INTEGER, fence: Number.MAX_SAFE_INTEGER, ...body }));

test('splits a text into parts that fit a message, without splitting surrogate pairs', () => {
  for (const text of ['', 'short', ...WORST]) {
    const parts = splitText(text);
    assert.equal(parts.join(''), text);
    for (const part of parts) {
      assert.ok(Buffer.byteLength(JSON.stringify(part)) < INLINE_BYTES - 1_024);
      assert.equal(part.isWellFormed(), text.isWellFormed());
    }
  }
});

test('every frame of a turn fits a message', () => {
  for (const text of WORST) {
    const bodies: FrameBody[] = [
      { type: 'delta', text },
      { type: 'resumed', text },
      { type: 'done', result: { response: text, tokensUsed, finishReason: 'stop' } },
      {
        type: 'done',
        result: { response: '', tokensUsed, finishReason: 'tool_calls', toolCalls: [{ callId: 'c', name: 'n', arguments: text }] },
      },
      { type: 'error', error: { code: 'INTERNAL', message: text, details: { text } } },
    ];
    for (const body of bodies) {
      const parts = splitFrame(body);
      assert.equal(parts[0]?.type, body.type);
      for (const part of parts) assert.ok(getBytes(part) <= INLINE_BYTES, `${part.type}: ${getBytes(part)}`);
      const content = parts.map((part) => (part as Partial<TurnFrame & { text: string }>).text ?? '').join('');
      if ('text' in body) assert.equal(content, text);
    }
  }
});

test('keeps frames that fit; an oversized end is marked as incomplete', () => {
  const done: FrameBody = { type: 'done', result: { response: 'é'.repeat(30_000), tokensUsed, finishReason: 'stop' } };
  assert.deepEqual(splitFrame(done), [done]);
  const long: FrameBody = { type: 'done', result: { response: 'é'.repeat(33_000), tokensUsed, finishReason: 'stop' } };
  assert.deepEqual(splitFrame(long), [{ type: 'done', whole: false, result: { response: '', tokensUsed, finishReason: 'stop' } }]);
});

test('truncates a long text for an event', () => {
  assert.equal(truncateText('short'), 'short');
  assert.equal(truncateText('é'.repeat(10_000)), 'é'.repeat(10_000));
  assert.equal(truncateText('é'.repeat(10_001)), `${'é'.repeat(10_000)}…`);
});
