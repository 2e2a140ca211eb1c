import assert from 'node:assert/strict';
import { createServer, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { brotliCompress, deflate, gzip, zstdCompress } from 'node:zlib';
import { ServiceError } from '@switchyard/contracts';
import { NATIVE_WIRES } from '@switchyard/testkit';
import { open, request, run } from '../models.fixture.ts';

const EVENTS = { 'content-type': 'text/event-stream' };
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const TEXT = event({ choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: null }] });
const FINISH = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const USAGE = event({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } });
/** Maximum time from the finish reason to the end of the answer. */
const MAX_END_MS = 10_000;

/** Starts a provider whose responses the test controls. */
async function startProvider(answer: (response: ServerResponse) => void, type: string) {
  const server = createServer((asked, response) => void asked.resume().on('end', () => answer(response)));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    models: open({ entries: { local: { type, baseUrl, maxRetries: 0, apiKeyName: 'LOCAL_KEY' } }, secret: async () => 'key' }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

/** Runs a request against a provider that sends this response. Returns the text, the token usage and the error. */
async function ask(answer: (response: ServerResponse) => void, isComplete = false, type = 'openai-compatible') {
  await using provider = await startProvider(answer, type);
  const { parts, error } = await run(provider.models, request(), isComplete);
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const finish = parts.at(-1);
  return { text, usage: finish?.type === 'finish' ? finish.usage : undefined, error };
}

const sends =
  (headers: OutgoingHttpHeaders, body: string | Buffer, status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(body);

test('a finish reason ends the answer of a connection that stays open, with its usage', async () => {
  for (const isComplete of [false, true]) {
    const startedAt = performance.now();
    const { text, usage, error } = await ask((response) => void response.writeHead(200, EVENTS).write(TEXT + FINISH + USAGE), isComplete);
    assert.deepEqual([text, usage, error], ['hello', { input: 9, output: 4 }, undefined]);
    assert.ok(performance.now() - startedAt < MAX_END_MS);
  }
});

test('content after a finish reason restarts the time for the end', async (t) => {
  const repeated = event({ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] });
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  await using provider = await startProvider((response) => {
    response.writeHead(200, EVENTS).write(repeated);
    resolve(response);
  }, 'openai-compatible');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const parts = provider.models.stream(request());
  const next = async () => (await parts.next()).value;
  assert.deepEqual(await next(), { type: 'text', text: 'x' });
  const response = await promise;
  for (let count = 0; count < 3; count += 1) {
    t.mock.timers.tick(600);
    response.write(repeated);
    assert.deepEqual(await next(), { type: 'text', text: 'x' });
  }
  t.mock.timers.tick(1_000);
  assert.equal((await next())?.type, 'finish');
});

test('an answer with a finish reason is complete when the connection is cut', async () => {
  const { text, error } = await ask((response) => {
    response.writeHead(200, EVENTS).write(TEXT + FINISH, () => response.destroy());
  });
  assert.deepEqual([text, error], ['hello', undefined]);
});

for (const wire of ['anthropic', 'google'] as const)
  test(`a finish reason ends the answer of the native ${wire} API, whether the connection stays open or is cut`, async () => {
    const events = NATIVE_WIRES[wire].events({ says: [{ text: 'hello' }] });
    const writes = wire === 'anthropic' ? events.slice(0, -1) : events;
    for (const end of [() => undefined, (response: ServerResponse) => response.destroy()]) {
      const startedAt = performance.now();
      const { text, error } = await ask(
        (response) => void response.writeHead(200, EVENTS).write(writes.join(''), () => end(response)),
        false,
        wire,
      );
      assert.deepEqual([text, error], ['hello', undefined]);
      assert.ok(performance.now() - startedAt < MAX_END_MS);
    }
  });

test('ignores events with empty data', async () => {
  const { text, error } = await ask(sends(EVENTS, `data:\n\ndata: \n\n${TEXT}data:\n\n${FINISH}data: [DONE]\n\n`));
  assert.deepEqual([text, error], ['hello', undefined]);
});

describe('a JSON response to a streamed request', () => {
  const completion = JSON.stringify({ choices: [{ index: 0, message: { content: 'hello' }, finish_reason: 'stop' }] });
  const refusals = [{ error: { message: 'quota exceeded' } }, { error: 'quota exceeded' }, [{ error: { message: 'quota exceeded' } }]];
  for (const type of ['application/json', 'text/event-stream', 'text/plain', undefined]) {
    const headers = type === undefined ? {} : { 'content-type': type };

    test(`${type ?? 'no content type'}: is the answer`, async () => {
      const { text, error } = await ask(sends(headers, ` ${completion}`));
      assert.deepEqual([text, error], ['hello', undefined]);
    });

    test(`${type ?? 'no content type'}: shows the error in it`, async () => {
      for (const refusal of [...refusals, { message: 'quota exceeded' }]) {
        const { error } = await ask(sends(headers, JSON.stringify(refusal)));
        assert.match((error as Error).message, /quota exceeded/);
      }
    });
  }

  for (const wire of ['anthropic', 'google'])
    test(`native ${wire} API: shows the error in it`, async () => {
      for (const refusal of refusals) {
        const { error } = await ask(sends({ 'content-type': 'application/json' }, JSON.stringify(refusal)), false, wire);
        assert.match((error as Error).message, /quota exceeded/);
      }
    });
});

describe('content codings', () => {
  const codings = { gzip: promisify(gzip), deflate: promisify(deflate), br: promisify(brotliCompress), zstd: promisify(zstdCompress) };
  for (const [coding, encode] of Object.entries(codings)) {
    test(`reads ${coding} in answers`, async () => {
      const streamed = await encode(Buffer.from(TEXT + FINISH));
      assert.equal((await ask(sends({ ...EVENTS, 'content-encoding': coding }, streamed))).text, 'hello');
      const json = JSON.stringify({ choices: [{ index: 0, message: { content: 'hello' }, finish_reason: 'stop' }] });
      const headers = { 'content-type': 'application/json', 'content-encoding': coding };
      assert.equal((await ask(sends(headers, await encode(Buffer.from(json))), true)).text, 'hello');
    });

    test(`reads ${coding} in refusals`, async () => {
      const body = await encode(Buffer.from('{"error":{"message":"quota exceeded"}}'));
      const headers = { 'content-type': 'application/json', 'content-encoding': coding };
      for (const wire of ['openai-compatible', 'anthropic', 'google'])
        assert.match(((await ask(sends(headers, body, 400), false, wire)).error as Error).message, /quota exceeded/);
    });
  }

  test('a body that does not have its coding is BAD_RESPONSE, and one that ends early is STREAM_CUT', async () => {
    const encoded = await codings.gzip(Buffer.from(TEXT));
    const cases = [
      [Buffer.from('<html>'), 'BAD_RESPONSE'],
      [encoded.subarray(0, -6), 'STREAM_CUT'],
    ] as const;
    for (const [body, reason] of cases) {
      const { error } = await ask(sends({ ...EVENTS, 'content-encoding': 'gzip' }, body));
      assert.equal(error instanceof ServiceError && error.details.reason, reason);
    }
  });
});
