import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { open, request, run } from '../models.fixture.ts';
import type { Models } from '../index.ts';
import { startPlayer } from './replay-server.fixture.ts';

const MIB = 1024 * 1024;
const RESPONSE = { choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] };
const END = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

function models(url: string, entry: object = {}): Models {
  return open({ entries: { local: { type: 'openai-compatible', baseUrl: url, maxRetries: 0, ...entry } } });
}

/** Starts a server whose responses the test controls. */
async function startServer(answer: (response: ServerResponse) => void) {
  let connections = 0;
  const server = createServer((asked, response) => {
    asked.resume().on('end', () => answer(response));
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

async function getReason(pending: Promise<{ error?: unknown }>): Promise<unknown> {
  const { error } = await pending;
  return error instanceof ServiceError ? error.details.reason : error;
}

test('emits one part per read of the socket', async () => {
  await using player = await startPlayer({ writes: [event(RESPONSE).repeat(5), END] });
  const { parts } = await run(models(player.url));
  assert.deepEqual(parts[0], { type: 'text', text: 'word '.repeat(5) });
});

test('complete joins a streamed response', async () => {
  const writes = [...Array.from({ length: 20 }, () => event(RESPONSE)), END];
  await using player = await startPlayer({ writes });
  const streamed = await run(models(player.url));
  assert.ok(streamed.parts.length > 2, 'all of it came in one read');
  const { parts } = await run(models(player.url), request(), true);
  assert.deepEqual(parts[0], { type: 'text', text: 'word '.repeat(20) });
  assert.equal(parts.length, 2);
});

test('reuses the connection after the response has ended', async () => {
  let last: ServerResponse | undefined;
  await using server = await startServer((response) => {
    last = response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event(RESPONSE) + END);
  });
  const client = models(server.url);
  for (let call = 0; call < 5; call++) {
    assert.equal((await run(client)).error, undefined);
    last?.end();
  }
  // The next call may start before the previous response has ended.
  assert.ok(server.connections() <= 2, `${server.connections()} connections`);
});

test('closes the connection on cancel, also between parts', async () => {
  const gone = Promise.withResolvers<void>();
  await using server = await startServer((response) => {
    response.on('close', gone.resolve).writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event(RESPONSE));
  });
  const leaving = new AbortController();
  const parts = models(server.url).stream(request({ signal: leaving.signal }));
  assert.equal((await parts.next()).value?.type, 'text');
  leaving.abort();
  await gone.promise;
  await assert.rejects(parts.next(), { code: 'CANCELLED' });
});

test('limits the size of events and responses', async () => {
  const endless = (part: string) => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (): void => {
      while (!response.destroyed && response.write(part));
      if (!response.destroyed) response.once('drain', write);
    };
    write();
  };
  for (const part of ['x'.repeat(MIB), `: ${'x'.repeat(MIB)}\n`]) {
    await using server = await startServer(endless(part));
    assert.equal(await getReason(run(models(server.url), request({ promptTimeoutMs: 30_000 }))), 'BAD_RESPONSE');
  }
});

test('pauses the socket for a slow reader without losing data', async () => {
  // Larger than the buffers of both sockets.
  const pieces = 4_000;
  const piece = event({ choices: [{ index: 0, delta: { content: 'x'.repeat(8_192) }, finish_reason: null }] });
  let written = 0;
  const full = Promise.withResolvers<void>();
  await using server = await startServer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (): void => {
      while (written < pieces) {
        written += 1;
        if (!response.write(piece)) {
          // A write that is blocked for this long means that the socket is paused.
          const held = setTimeout(full.resolve, 300);
          response.once('drain', () => {
            clearTimeout(held);
            write();
          });
          return;
        }
      }
      full.resolve();
      response.end(END);
    };
    write();
  });
  const parts = models(server.url).stream(request());
  let text = '';
  const first = await parts.next();
  if (first.value?.type === 'text') text += first.value.text;
  await full.promise;
  assert.ok(written < pieces, 'all of it was sent to nobody');
  for await (const part of parts) if (part.type === 'text') text += part.text;
  assert.equal(text.length, pieces * 8_192);
});

test('fails BAD_RESPONSE for an unrequested encoding or an HTML page', async () => {
  for (const headers of [{ 'content-encoding': 'br' }, { 'content-type': 'text/html' }]) {
    for (const isComplete of [false, true]) {
      await using server = await startServer((response) => void response.writeHead(200, headers).end('<html>'));
      assert.equal(await getReason(run(models(server.url), request(), isComplete)), 'BAD_RESPONSE');
    }
  }
});

test('sends configured headers and rejects invalid ones without their value', async () => {
  let seen: unknown;
  await using server = await startServer((response) => {
    seen = response.req.headers['x-team'];
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(END);
  });
  assert.equal((await run(models(server.url, { headers: { 'X-Team': 'sea' } }))).error, undefined);
  assert.equal(seen, 'sea');
  for (const headers of [{ 'X-Bad': 'very-secret\nvalue' }, { Host: 'very-secret' }, { 'Content-Length': '5' }]) {
    const { error } = await run(models(server.url, { headers }));
    assert.ok(error instanceof ServiceError && error.code === 'FAILED_PRECONDITION');
    assert.match(error.message, new RegExp(`headers: ${Object.keys(headers)[0]} `));
    assert.ok(!error.message.includes('very-secret'));
  }
});

test('redacts header values in provider errors', async () => {
  await using server = await startServer((response) => {
    const { 'x-api-key': key } = response.req.headers;
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: `bad: ${String(key)}` } }));
  });
  const { error } = await run(models(server.url, { headers: { 'x-api-key': 'hush-hush-hush' } }));
  assert.ok(error instanceof Error && /bad: \[REDACTED\]/.test(error.message));
});

test('keeps path and query of the configured address', async () => {
  let question: string | undefined;
  await using server = await startServer((response) => {
    question = response.req.url;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(END);
  });
  await run(models(`${server.url}/deep/?api-version=7`));
  assert.equal(question, '/v1/deep/chat/completions?api-version=7');
});
