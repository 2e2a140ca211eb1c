import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { createLogger } from '@switchyard/telemetry';
import { startTestGateway, SECRETS, type TestGateway } from '../gateway.fixture.ts';

/** Routes without a token: webhooks have a signature, and `/ws` over plain HTTP only returns 426. */
const OPEN = new Set([
  'GET /',
  'GET /app/*',
  'GET /health',
  'GET /api/health',
  'GET /livez',
  'GET /startupz',
  'GET /readyz',
  'OPTIONS /*',
  'OPTIONS /api/*',
  'GET /ws',
  'POST /api/sign-in',
  'POST /hooks/webhook',
  'POST /hooks/*',
]);
const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/** Sends bytes unchanged and reads until the connection closes. */
async function sendRaw(gateway: TestGateway, bytes: string): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return text;
}

const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'host: localhost', 'connection: close', ...headers, '', ''].join('\r\n');
const bearer = `authorization: Bearer ${SECRETS.all}`;
const parseStatus = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);

test('every route requires a token except the open routes', async () => {
  await using gateway = await startTestGateway({ settings: { authFailures: { maxFailures: 1_000, windowMs: 60_000 } } });
  const { routes } = gateway.gateway;
  assert.ok(routes.length > 12, 'the routes were found');
  for (const { verb, path } of routes) {
    const response = await fetch(gateway.url + path.replace('*', 'x'), { method: verb });
    const open = OPEN.has(`${verb} ${path}`);
    assert.equal(response.status === 401, !open, `${verb} ${path}: ${response.status} without a token`);
    const wrong = await fetch(gateway.url + path.replace('*', 'x'), { method: verb, headers: { authorization: 'Bearer x' } });
    assert.equal(wrong.status === 401, !open, `${verb} ${path}: ${wrong.status} with an invalid token`);
  }
});

test('answers every method on every route without a 5xx status', async () => {
  await using gateway = await startTestGateway();
  const registered = new Set(gateway.gateway.routes.map(({ verb, path }) => `${verb} ${path}`));
  for (const path of new Set(gateway.gateway.routes.map((route) => route.path))) {
    for (const verb of VERBS.filter(
      (candidate) => !registered.has(`${candidate} ${path}`) && !(candidate === 'OPTIONS' && path.startsWith('/api/')),
    )) {
      const status = parseStatus(await sendRaw(gateway, head(`${verb} ${path.replace('*', 'x')}`, bearer, 'content-length: 0')));
      assert.ok(status === 404 || status === 405, `${verb} ${path}: ${status}`);
    }
  }
});

describe('an unusual path', () => {
  for (const path of [
    '/rpc/',
    '//rpc',
    '/RPC',
    '/%72pc/',
    '/rpc%2f',
    '/./rpc',
    '/x/../rpc',
    '/rpc;x',
    '/api//chat',
    '/v1//models',
    '/__proto__',
  ]) {
    test(`${path} is not found`, async () => {
      await using gateway = await startTestGateway();
      const answer = await sendRaw(gateway, head(`POST ${path}`, bearer, 'content-type: application/json', 'content-length: 2') + '{}');
      assert.equal(parseStatus(answer), 404, answer);
    });
  }

  test('that cannot be decoded is refused without repeating it', async () => {
    await using gateway = await startTestGateway();
    for (const path of ['/v1/models/%zz-hunter2', '/%c0%ae', '/api/%']) {
      const answer = await sendRaw(gateway, head(`GET ${path}`, bearer));
      assert.equal(parseStatus(answer), 400, answer);
      assert.match(answer, /x-request-id: req_/i);
      assert.match(answer, /"Bad Request"/);
      assert.ok(!answer.includes('hunter2') && !answer.includes('FST_'), answer);
    }
  });
});

describe('malformed HTTP', () => {
  test('is refused with a status and a JSON body', async () => {
    await using gateway = await startTestGateway();
    const cases: [string, number][] = [
      ['NONSENSE\r\nhost: x\r\n\r\n', 400],
      [head('GET /health', `x-long: ${'x'.repeat(20_000)}`), 431],
      [head('POST /rpc', bearer, 'content-length: 2', 'transfer-encoding: chunked') + '0\r\n\r\n', 400],
      [head('POST /rpc', bearer, 'content-length: 2', 'content-length: 3') + '{}', 400],
      ['GET /health HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
      [head('GET /health', 'x-request-id: a\rb'), 400],
    ];
    for (const [bytes, status] of cases) {
      const answer = await sendRaw(gateway, bytes);
      assert.equal(parseStatus(answer), status, bytes.slice(0, 60));
      if (bytes.includes('\r\nhost:')) assert.match(answer, /\r\n\r\n\{"error":"[A-Z][A-Za-z ]+"\}$/, answer); // Node refuses the other by itself
    }
  });

  test('accepts chunked bodies, HTTP/1.0 and pipelined requests', async () => {
    await using gateway = await startTestGateway();
    const ping = '{"jsonrpc":"2.0","method":"system.ping","id":1}';
    const json = 'content-type: application/json';
    const chunks =
      ping
        .split('')
        .map((byte) => `1\r\n${byte}\r\n`)
        .join('') + '0\r\n\r\n';
    assert.match(await sendRaw(gateway, head('POST /rpc', bearer, json, 'transfer-encoding: chunked') + chunks), /"pong":true/);
    const old = `POST /rpc HTTP/1.0\r\nhost: localhost\r\n${bearer}\r\n${json}\r\ncontent-length: ${ping.length}\r\n\r\n${ping}`;
    assert.match(await sendRaw(gateway, old), /"pong":true/);
    const absoluteUrl = head('POST http://localhost/rpc?x=1', bearer, json, `content-length: ${ping.length}`) + ping;
    assert.match(await sendRaw(gateway, absoluteUrl), /"pong":true/, 'an absolute URL');
    const keepAlive = head('POST /rpc', bearer, json, `content-length: ${ping.length}`).replace('connection: close\r\n', '') + ping;
    const answers = await sendRaw(gateway, keepAlive.repeat(5) + head('GET /health'));
    assert.equal(answers.match(/"pong":true/g)?.length, 5);
    assert.match(answers, /"status":"ok"/);
  });

  test('is refused when it names two hosts, on every kind of route', async () => {
    await using gateway = await startTestGateway();
    const upgrade = [
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
    ];
    for (const [line, ...headers] of [
      ['GET /api/agents', 'HOST: localhost'],
      ['GET /health', 'host: other.example'],
      ['POST /rpc', 'host: other.example', 'content-type: application/json', 'content-length: 0'],
      ['POST http://other.example/rpc', 'content-type: application/json', 'content-length: 0'],
      ['GET http://other.example/api/agents'],
      ['GET /ws', 'host: other.example', ...upgrade],
    ] as const) {
      const answer = await sendRaw(gateway, head(line, bearer, ...headers));
      assert.equal(parseStatus(answer), 400, `${line}: ${answer}`);
      assert.match(answer, /names two hosts/, line);
    }
  });

  test('ignores an offer to upgrade to HTTP/2', async () => {
    await using gateway = await startTestGateway();
    const offer = ['upgrade: h2c', 'http2-settings: AAMAAABkAAQAAP__'];
    const answer = await sendRaw(
      gateway,
      head('GET /health', ...offer).replace('connection: close', 'connection: upgrade, http2-settings, close'),
    );
    assert.equal(parseStatus(answer), 200, answer);
  });
});

describe('request ids of clients', () => {
  test('are accepted when valid and replaced otherwise', async () => {
    await using gateway = await startTestGateway();
    const getRequestId = async (value: string): Promise<string | undefined> =>
      /x-request-id: ([^\r]*)/i.exec(await sendRaw(gateway, head('GET /openrpc.json', `x-request-id: ${value}`)))?.[1];
    assert.equal(await getRequestId('abc-1.2_3'), 'abc-1.2_3');
    for (const bad of ['a b', 'ü', 'x'.repeat(129), 'a, b', '<script>', 'a\tb', ''])
      assert.match((await getRequestId(bad)) ?? '', /^req_/, bad);
    const twice = await sendRaw(gateway, head('GET /openrpc.json', 'x-request-id: one', 'x-request-id: two'));
    assert.match(twice, /x-request-id: req_/i);
  });

  test('are the same in header, error and handler, with the trace id', async () => {
    const received: (string | undefined)[] = [];
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': (_params, { requestId, traceparent }) => {
          received.push(requestId, traceparent);
          throw new Error('no luck');
        },
      },
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const response = await gateway.post('/rpc', '{"jsonrpc":"2.0","method":"session.history","id":1}', {
      token: SECRETS.all,
      headers: { 'x-request-id': 'mine-1', traceparent },
    });
    const { error } = (await response.json()) as { error: { data: { requestId: string } } };
    assert.deepEqual(
      [response.headers.get('x-request-id'), error.data.requestId, ...received],
      ['mine-1', 'mine-1', 'mine-1', traceparent],
    );
  });
});

test('does not log a failure for a client that disconnects within its body', async () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
  {
    await using gateway = await startTestGateway({ log });
    const { hostname, port } = new URL(gateway.url);
    for (const path of ['/rpc', '/api/chat', '/v1/chat/completions']) {
      const socket = connect({ host: hostname, port: Number(port) });
      const requestHead = head(`POST ${path}`, bearer, 'content-type: application/json', 'content-length: 1000', 'expect: 100-continue');
      socket.write(requestHead);
      await once(socket, 'data'); // the server waits for the body
      socket.write('{"half":');
      socket.resetAndDestroy();
    }
    await sendRaw(gateway, head('GET /health'));
  } // closing the gateway waits for every connection
  const failures = lines.filter((line) => /"level":(40|50|60)/.test(line));
  assert.deepEqual(failures, []);
  assert.ok(
    lines.some((line) => line.includes('/health')),
    'the log was written to',
  );
});

test('discards the body of a request without authentication', async () => {
  await using gateway = await startTestGateway();
  const parts = ['{"a":', '1}'];
  for (const [method, path, status] of [
    ['OPTIONS', '/api/chat', 204],
    ['POST', '/nowhere', 404],
    ['POST', '/health', 404],
  ] as const) {
    const body = ReadableStream.from(parts.map((part) => Buffer.from(part)));
    const response = await fetch(gateway.url + path, { method, body, duplex: 'half', headers: { 'content-type': 'application/json' } });
    assert.equal(response.status, status, `${method} ${path}`);
  }
  assert.equal((await fetch(`${gateway.url}/livez`)).status, 200);
});

test('answers pipelined requests in their order when the first one is slow', async () => {
  const released = Promise.withResolvers<void>();
  const status = async (): Promise<never> => {
    await released.promise;
    throw new Error('late');
  };
  await using gateway = await startTestGateway({ handlers: { 'session.status': status } });
  const call = (id: string, method: string): string => JSON.stringify({ jsonrpc: '2.0', id, method });
  const post = (body: string): string =>
    `POST /rpc HTTP/1.1\r\nhost: localhost\r\n${bearer}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const answer = sendRaw(gateway, post(call('first', 'session.status')) + post(call('second', 'system.ping')) + head('GET /health'));
  // The earlier requests have been read when this response arrives.
  await gateway.post('/rpc', call('beside', 'system.ping'), { token: SECRETS.all });
  released.resolve();
  assert.match(await answer, /"id":"first"[^]*"id":"second"[^]*"status"/);
});

test('closes the connection with each response while draining', async () => {
  await using gateway = await startTestGateway();
  const ping = '{"jsonrpc":"2.0","id":1,"method":"system.ping"}';
  const connection = async (): Promise<string | null> =>
    (await gateway.post('/rpc', ping, { token: SECRETS.all })).headers.get('connection');
  assert.equal(await connection(), 'keep-alive');
  const closed = gateway.gateway.close({ delayMs: 100 });
  assert.equal(await connection(), 'close');
  await closed;
});
