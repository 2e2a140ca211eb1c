import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { answer, FAST, startServer, type Call } from './client.fixture.ts';
import type { ChatEvent } from './chat.ts';
import { createClient } from './client.ts';
import { RpcError } from './rpc-error.ts';

const DONE = { response: 'ab', tokensUsed: { input: 1, output: 2, total: 3 }, finishReason: 'stop' };

function stream(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

function event(id: number, name: string, data: unknown): string {
  return `id: turn_1:${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

const token = (id: number, delta: string, accumulated: string) => event(id, 'token', { delta, accumulated });

async function read(events: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  return Array.fromAsync(events);
}

test('chat streams tokens and ends with done', async () => {
  let requests: unknown[] = [];
  await using server = await startServer({
    http(request, response) {
      requests = [request.url, request.headers.authorization, request.headers['last-event-id']];
      stream(response).end(`retry: 3000\n\n: ping\n\n${token(1, 'a', 'a')}${token(2, 'b', 'ab')}${event(3, 'done', DONE)}`);
    },
  });
  const client = createClient({ url: server.url, token: 'secret' });
  assert.deepEqual(await read(client.chat('hello & goodbye', { agentId: 'oslo', sessionKey: 'k' })), [
    { type: 'token', delta: 'a', accumulated: 'a' },
    { type: 'token', delta: 'b', accumulated: 'ab' },
    { type: 'done', turnId: 'turn_1', ...DONE },
  ]);
  assert.deepEqual(requests, ['/api/chat/stream?message=hello+%26+goodbye&agentId=oslo&sessionKey=k', 'Bearer secret', undefined]);
});

test('chat cancels the turn of a leaving reader only with cancels: true', async () => {
  for (const cancels of [false, true]) {
    const calls: unknown[] = [];
    await using server = await startServer({
      http(request, response, body) {
        if (request.url === '/rpc') {
          const call = JSON.parse(body) as Call;
          calls.push([call.method, call.params]);
          response.writeHead(200, { 'content-type': 'application/json' }).end(answer(call, {}));
        } else stream(response).write(token(1, 'a', 'a'));
      },
    });
    const client = createClient({ url: server.url });
    for await (const _ of client.chat('hi', { cancels })) break;
    const leaving = new AbortController();
    await assert.rejects(async () => {
      for await (const _ of client.chat('hi', { cancels, signal: leaving.signal })) leaving.abort();
    });
    const ended = ['agent.cancel', { turnId: 'turn_1' }];
    assert.deepEqual(calls, cancels ? [ended, ended] : []);
  }
});

test('chat does not cancel a turn that has ended', async () => {
  const calls: unknown[] = [];
  await using server = await startServer({
    http(request, response) {
      calls.push(request.url);
      stream(response).end(`${token(1, 'a', 'a')}${event(3, 'done', DONE)}`);
    },
  });
  await read(createClient({ url: server.url }).chat('hi', { cancels: true }));
  assert.equal(calls.length, 1);
});

test('chat resumes a broken stream after its last event', async () => {
  const resumed: unknown[] = [];
  await using server = await startServer({
    http(request, response) {
      const last = request.headers['last-event-id'];
      resumed.push(last);
      const first = last === undefined ? 'id: turn_1:0\n\n' : token(1, 'a', 'a');
      if (resumed.length === 2) response.writeHead(503).end('{"error":"draining"}');
      else if (last === 'turn_1:1') stream(response).end(`${token(2, 'b', 'ab')}${event(3, 'done', DONE)}`);
      else stream(response).write(`${first}event: token\ndata: {"delta":"lost`, () => response.destroy());
    },
  });
  const events = await read(createClient({ url: server.url, reconnect: FAST }).chat('hi'));
  assert.deepEqual(
    events.map((each) => each.type === 'token' && each.delta),
    ['a', 'b', false],
  );
  assert.deepEqual(resumed, [undefined, 'turn_1:0', 'turn_1:0', 'turn_1:1']);
});

test('chat replaces the text on a resumed event', async () => {
  await using server = await startServer({
    http: (_, response) =>
      stream(response).end(
        `${token(1, 'a', 'a')}${event(2, 'resumed', { accumulated: '' })}${token(3, 'b', 'b')}${event(4, 'done', DONE)}`,
      ),
  });
  const events = await read(createClient({ url: server.url }).chat('hi'));
  assert.deepEqual(events.slice(1, 3), [
    { type: 'resumed', accumulated: '' },
    { type: 'token', delta: 'b', accumulated: 'b' },
  ]);
});

test('chat fails when the stream breaks before its first event', async () => {
  let requestCount = 0;
  await using server = await startServer({
    http(_, response) {
      requestCount += 1;
      stream(response).write(': ping\n\n', () => response.destroy());
    },
  });
  const failed = await read(createClient({ url: server.url, reconnect: FAST }).chat('hi')).catch((error: unknown) => error);
  assert.ok(failed instanceof RpcError && !failed.retryable && failed.data.reason === 'CONNECTION_LOST', String(failed));
  assert.equal(requestCount, 1);
});

test('chat throws STREAM_ENDED when a resumed turn has ended', async () => {
  let asked = 0;
  await using server = await startServer({
    http(_, response) {
      asked += 1;
      if (asked === 2) response.writeHead(204).end();
      else stream(response).end(token(1, 'a', 'a'));
    },
  });
  const seen: ChatEvent[] = [];
  await assert.rejects(
    async () => {
      for await (const each of createClient({ url: server.url, reconnect: FAST }).chat('hi')) seen.push(each);
    },
    (error: RpcError) => error.data.reason === 'STREAM_ENDED' && !error.retryable,
  );
  assert.equal(seen.length, 1);
  assert.equal(asked, 2);
});

test('chat throws the error of a failed turn or a rejected request without a retry', async () => {
  const data = { code: 'UNAVAILABLE', reason: 'INTERRUPTED', requestId: 'req_1', retryable: true };
  const bodies: ((response: ServerResponse) => void)[] = [
    (response) => stream(response).end(token(1, 'a', 'a') + event(2, 'error', { error: 'interrupted', data })),
    (response) => stream(response).end(event(2, 'error', { error: 'interrupted', ...data })),
    (response) => response.writeHead(400).end('{"error":"interrupted"}'),
    (response) => stream(response).end('event: token\ndata: [1]\n\n'),
  ];
  const outcomes: unknown[] = [];
  for (const http of bodies) {
    await using server = await startServer({ http: (_, response) => http(response) });
    const failed = await read(createClient({ url: server.url, reconnect: FAST }).chat('hi')).catch((error: unknown) => error);
    assert.ok(failed instanceof RpcError, String(failed));
    outcomes.push([failed.data.code, failed.data.reason]);
  }
  assert.deepEqual(outcomes, [
    ['UNAVAILABLE', 'INTERRUPTED'],
    ['UNAVAILABLE', 'INTERRUPTED'],
    ['INVALID_ARGUMENT', undefined],
    ['INTERNAL', 'BAD_ANSWER'],
  ]);
});

test('chat closes its connection when the reader leaves, aborts or closes the client', async () => {
  const remainingItems: Promise<void>[] = [];
  await using server = await startServer({
    http(_, response) {
      remainingItems.push(new Promise((resolve) => void response.on('close', resolve)));
      stream(response).write(token(1, 'a', 'a'));
    },
  });
  const client = createClient({ url: server.url });
  for await (const each of client.chat('hi')) {
    assert.equal(each.type, 'token');
    break;
  }
  await remainingItems[0];

  const abort = new AbortController();
  const aborted = client.chat('hi', { signal: abort.signal });
  await aborted.next();
  const pending = aborted.next();
  abort.abort(new Error('enough'));
  await assert.rejects(pending, { message: 'enough' });
  await remainingItems[1];

  const closing = client.chat('hi');
  await closing.next();
  const cut = closing.next();
  client.close();
  await assert.rejects(cut, (error: RpcError) => error.data.reason === 'CLIENT_CLOSED');
  await remainingItems[2];
});
