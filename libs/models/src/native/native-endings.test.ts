import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { NATIVE_WIRES, startNativeUpstream, type NativeReply, type NativeUpstream, type NativeWire } from '@switchyard/testkit';
import { KEY, open, request, run } from '../models.fixture.ts';
import type { ModelRequest, Models } from '../index.ts';

const CANCELLED_WITHIN_MS = 2_000;
const UP = { provider: 'up', modelId: 'small' };

function against({ url }: Pick<NativeUpstream, 'url'>, type: NativeWire): Models {
  return open({ entries: { up: { type, baseUrl: url, apiKeyName: 'UP_KEY', models: [{ id: 'small' }] } }, secret: async () => KEY });
}

function createRequest(rest: Partial<ModelRequest> = {}): ModelRequest {
  return request({ model: UP, ...rest });
}

interface Failing {
  name: string;
  reply: NativeReply;
  code: string;
  reason: string;
  attempts: number;
}

function failures(wire: NativeWire): Failing[] {
  const { events, error } = NATIVE_WIRES[wire];
  const [begun = ''] = events({ says: [{ text: '' }] });
  const call = events({ says: [{ call: { id: 'toolu_a', name: 'find', input: ['{"q":', '1}'] } }] });
  const refusal = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: 'not so' } });
  const json = { 'content-type': 'application/json' };
  const overloaded = error(wire === 'google' ? 'UNAVAILABLE' : 'overloaded_error', 'overloaded');
  const cut = { code: 'UNAVAILABLE', reason: 'STREAM_CUT', attempts: 3 };
  const bad = { code: 'UNAVAILABLE', reason: 'BAD_RESPONSE', attempts: 1 };
  const away = { code: 'UNAVAILABLE', reason: 'PROVIDER_UNAVAILABLE', attempts: 3 };
  const refused = (status: number): NativeReply => ({ status, headers: json, writes: [refusal] });
  return [
    { name: 'a refusal', reply: refused(400), code: 'FAILED_PRECONDITION', reason: 'PROVIDER_REJECTED', attempts: 1 },
    { name: 'a refused key', reply: refused(401), code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH', attempts: 1 },
    { name: 'a 404', reply: refused(404), code: 'NOT_FOUND', reason: 'MODEL_NOT_FOUND', attempts: 1 },
    {
      name: 'a redirect',
      reply: { status: 307, headers: { location: 'http://127.0.0.1:1/' }, writes: [] },
      code: 'FAILED_PRECONDITION',
      reason: 'PROVIDER_REJECTED',
      attempts: 1,
    },
    { name: 'a 503', reply: refused(503), ...away },
    { name: 'a body that is no JSON', reply: { writes: ['data: {"type": oops\n\n'] }, ...bad },
    { name: 'a page', reply: { headers: { 'content-type': 'text/html' }, writes: ['<p>hello</p>'] }, ...bad },
    { name: 'an answer that does not stream', reply: { headers: json, writes: ['{}'] }, ...bad },
    { name: 'no end', reply: { writes: [begun] }, ...cut },
    { name: 'a cut', reply: { writes: [begun], ending: 'cut' }, ...cut },
    { name: 'half a tool call, then a cut', reply: { writes: call.slice(0, wire === 'google' ? 1 : -2), ending: 'cut' }, ...cut },
    { name: 'a tool call, and no end', reply: { writes: call.slice(0, wire === 'google' ? -1 : -2) }, ...cut },
    { name: 'an error in place of an answer', reply: { writes: [overloaded] }, ...away },
    { name: 'an error in the middle', reply: { writes: [begun, overloaded] }, ...away },
  ];
}

for (const wire of ['anthropic', 'google'] as const)
  for (const isComplete of [false, true])
    describe(`${wire} API, ${isComplete ? 'non-streaming' : 'streaming'}`, () => {
      const { events } = NATIVE_WIRES[wire];
      const TEXT: NativeReply = { writes: events({ says: [{ text: 'one two three' }] }) };

      for (const { name, reply, code, reason, attempts } of failures(wire)) {
        test(`${name}: fails ${code}, ${reason} after ${attempts} attempts`, async () => {
          await using upstream = await startNativeUpstream(reply);
          const { parts, error } = await run(against(upstream, wire), createRequest(), isComplete);
          assert.deepEqual(parts, []);
          assert.ok(error instanceof ServiceError);
          assert.deepEqual([error.code, error.details.reason, upstream.requests.length], [code, reason, attempts]);
          assert.ok(!error.message.includes(KEY));
        });
      }

      test('retries 429 after Retry-After', async () => {
        await using upstream = await startNativeUpstream({ status: 429, headers: { 'retry-after-ms': '120' }, writes: ['{}'] }, TEXT);
        const startedAt = performance.now();
        const { parts } = await run(against(upstream, wire), createRequest(), isComplete);
        assert.equal(parts.map((part) => (part.type === 'text' ? part.text : '')).join(''), 'one two three');
        assert.ok(performance.now() - startedAt >= 115);
      });

      test('fails MODEL_STALLED on silence and closes the connection', async () => {
        for (const writes of [[], TEXT.writes.slice(0, 1)]) {
          await using upstream = await startNativeUpstream({ writes, ending: 'stall' });
          const { error } = await run(against(upstream, wire), createRequest({ promptTimeoutMs: 100 }), isComplete);
          assert.ok(error instanceof ServiceError && error.details.reason === 'MODEL_STALLED');
          await upstream.abandoned;
        }
      });

      test('fails PROVIDER_UNREACHABLE on a refused connection', async () => {
        const upstream = await startNativeUpstream(TEXT);
        await upstream[Symbol.asyncDispose]();
        const { error } = await run(against(upstream, wire), createRequest(), isComplete);
        assert.ok(error instanceof ServiceError && error.details.reason === 'PROVIDER_UNREACHABLE');
      });

      if (!isComplete)
        test('closes the connection when the reader leaves', async () => {
          await using upstream = await startNativeUpstream({ writes: TEXT.writes.slice(0, 3), ending: 'stall' });
          for await (const part of against(upstream, wire).stream(createRequest())) if (part.type === 'text') break;
          const leftAt = performance.now();
          await upstream.abandoned;
          assert.ok(performance.now() - leftAt < CANCELLED_WITHIN_MS);
        });

      test(`closes the connection within ${CANCELLED_WITHIN_MS} ms of a cancel`, async () => {
        await using upstream = await startNativeUpstream({ writes: TEXT.writes.slice(0, 3), ending: 'stall' });
        const leaving = new AbortController();
        const running = run(against(upstream, wire), createRequest({ signal: leaving.signal }), isComplete);
        await upstream.pending;
        const leftAt = performance.now();
        leaving.abort();
        await upstream.abandoned;
        assert.ok(performance.now() - leftAt < CANCELLED_WITHIN_MS);
        const { error } = await running;
        assert.ok(error instanceof ServiceError && error.code === 'CANCELLED');
      });
    });
