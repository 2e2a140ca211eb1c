import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { startUpstream, type UpstreamBehaviour } from '@switchyard/testkit';
import { against, request, run, TEXT } from '../models.fixture.ts';
import type { ModelPart } from '../index.ts';

const CANCELLED_WITHIN_MS = 2_000;

function getText(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Failing responses with their expected errors. */
const FAILURES: readonly { name: string; behaviour: UpstreamBehaviour; code: string; reason: string; attempts: number }[] = [
  { name: 'a refusal', behaviour: { kind: 'status', status: 400 }, code: 'FAILED_PRECONDITION', reason: 'PROVIDER_REJECTED', attempts: 1 },
  { name: 'a 503', behaviour: { kind: 'status', status: 503 }, code: 'UNAVAILABLE', reason: 'PROVIDER_UNAVAILABLE', attempts: 3 },
  { name: 'a body that is no JSON', behaviour: { kind: 'garbage' }, code: 'UNAVAILABLE', reason: 'BAD_RESPONSE', attempts: 1 },
  { name: 'no finish', behaviour: { kind: 'unfinished', text: '' }, code: 'UNAVAILABLE', reason: 'STREAM_CUT', attempts: 3 },
  { name: 'a cut', behaviour: { kind: 'cut', text: '', afterTokens: 0 }, code: 'UNAVAILABLE', reason: 'STREAM_CUT', attempts: 3 },
  {
    name: 'half a tool call, then a cut',
    behaviour: { kind: 'half-call', name: 'find', arguments: '{"q":1}', end: 'cut' },
    code: 'UNAVAILABLE',
    reason: 'STREAM_CUT',
    attempts: 3,
  },
  {
    name: 'an error in the body of a success',
    behaviour: { kind: 'frame-error', error: { message: 'overloaded', code: 503 } },
    code: 'UNAVAILABLE',
    reason: 'PROVIDER_UNAVAILABLE',
    attempts: 3,
  },
  {
    name: 'an end that is called an error',
    behaviour: { kind: 'text', text: '', finish: 'insufficient_system_resource' },
    code: 'UNAVAILABLE',
    reason: 'STREAM_CUT',
    attempts: 3,
  },
];

for (const isComplete of [false, true]) {
  describe(isComplete ? 'non-streaming' : 'streaming', () => {
    for (const { name, behaviour, code, reason, attempts } of FAILURES) {
      test(`${name}: fails ${code}, ${reason} after ${attempts} attempts`, async () => {
        await using upstream = await startUpstream(behaviour);
        const { parts, error } = await run(against(upstream), request(), isComplete);
        assert.deepEqual(parts, []);
        assert.ok(error instanceof ServiceError);
        assert.deepEqual([error.code, error.details.reason, upstream.requests.length], [code, reason, attempts]);
        assert.ok(upstream.requests.every(({ body }) => body.stream === !isComplete));
      });
    }

    test('retries 429 after Retry-After', async () => {
      await using upstream = await startUpstream({ kind: 'status', status: 429, headers: { 'retry-after-ms': '120' } }, TEXT);
      const startedAt = performance.now();
      const { parts } = await run(against(upstream), request(), isComplete);
      assert.equal(getText(parts), 'one two three');
      assert.ok(performance.now() - startedAt >= 115);
    });

    test('fails MODEL_STALLED on silence and closes the connection', async () => {
      await using upstream = await startUpstream({ kind: 'stall' });
      const { error } = await run(against(upstream), request({ promptTimeoutMs: 100 }), isComplete);
      assert.ok(error instanceof ServiceError && error.details.reason === 'MODEL_STALLED');
      await upstream.abandoned;
    });

    test('fails PROVIDER_UNREACHABLE on a refused connection', async () => {
      const upstream = await startUpstream();
      await upstream[Symbol.asyncDispose]();
      const { error } = await run(against(upstream), request(), isComplete);
      assert.ok(error instanceof ServiceError && error.details.reason === 'PROVIDER_UNREACHABLE');
    });

    test(`closes the connection within ${CANCELLED_WITHIN_MS} ms of a cancel`, async () => {
      await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });
      const leaving = new AbortController();
      const running = run(against(upstream), request({ signal: leaving.signal }), isComplete);
      await upstream.firstRequest;
      const leftAt = performance.now();
      leaving.abort();
      await upstream.abandoned;
      assert.ok(performance.now() - leftAt < CANCELLED_WITHIN_MS);
      const { error } = await running;
      assert.ok(error instanceof ServiceError && error.code === 'CANCELLED');
    });
  });
}

test('complete requests a non-streaming response and accepts a stream', async () => {
  await using upstream = await startUpstream(TEXT);
  const { parts } = await run(against(upstream), request(), true);
  assert.deepEqual(
    parts.map(({ type }) => type),
    ['text', 'finish'],
  );
  const { stream, stream_options: options } = upstream.requests[0]?.body ?? assert.fail();
  assert.deepEqual([stream, options], [false, undefined]);
});

test('complete requests a stream from a model that was slow before', async () => {
  await using upstream = await startUpstream({ kind: 'stall' }, TEXT);
  const models = against(upstream);
  const slow = await run(models, request({ promptTimeoutMs: 50 }), true);
  assert.ok(slow.error instanceof ServiceError && slow.error.details.reason === 'MODEL_STALLED');

  const { parts } = await run(models, request(), true);
  assert.deepEqual(
    parts.map(({ type }) => type),
    ['text', 'finish'],
  );
  assert.deepEqual(
    upstream.requests.map(({ body }) => body.stream),
    [false, true],
  );
});
