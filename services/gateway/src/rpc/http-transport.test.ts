import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { buildOpenRpcDocument, type OpenRpcDocument } from '@switchyard/contracts';
import { SECRETS, startTestGateway, type Answer } from '../gateway.fixture.ts';

const PING = '{"jsonrpc":"2.0","method":"system.ping","id":1}';
const HISTORY = '{"jsonrpc":"2.0","method":"session.history","id":1}';

/** Far below the deadline of any call, so that a test fails if only the deadline ends the call. */
const SHORT_TIMEOUT = { timeout: 60_000 };

describe('POST /rpc', () => {
  test('forwards params unchanged and returns the result', async () => {
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': ({ channelId }, ctx) => ({
          messages: [{ role: ctx.principal.client, content: `${channelId} ${ctx.requestId} ${ctx.traceparent}` }],
        }),
      },
    });
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const response = await gateway.post('/rpc', '{"jsonrpc":"2.0","method":"session.history","params":{"channelId":"ü\\n"},"id":1}', {
      token: SECRETS.rpc,
      headers: { 'x-request-id': 'mine.1', traceparent },
    });
    const { result } = (await response.json()) as Answer;
    const { messages } = result as { messages: { role: string; content: string }[] };
    assert.equal(messages[0]?.role, 'rpc');
    assert.match(messages[0].content, new RegExp(`^ü\\n mine\\.1 00-${'a'.repeat(32)}-[0-9a-f]{16}-01$`));
    assert.equal(response.headers.get('x-request-id'), 'mine.1');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  });

  test('replaces an invalid request id and returns the new one in errors', async () => {
    await using gateway = await startTestGateway();
    const response = await gateway.post('/rpc', '{', { token: SECRETS.rpc, headers: { 'x-request-id': 'a b<script>' } });
    const { error } = (await response.json()) as Answer;
    assert.match(response.headers.get('x-request-id') ?? '', /^req_[0-9A-Za-z]{22}$/);
    assert.equal(error?.data?.['requestId'], response.headers.get('x-request-id'));
  });

  test('returns UNAVAILABLE with the service of an unserved method', async () => {
    await using gateway = await startTestGateway();
    const response = await gateway.post('/rpc', '{"jsonrpc":"2.0","method":"channels.list","id":1}', { token: SECRETS.all });
    const { error } = (await response.json()) as Answer;
    assert.equal(response.status, 200);
    assert.deepEqual([error?.code, error?.data?.['code'], error?.data?.['retryable']], [-32603, 'UNAVAILABLE', false]);
    assert.match(error?.message ?? '', /channels/);
  });

  test('names the setting for a service that is not installed', async () => {
    await using gateway = await startTestGateway({ settings: { installedServices: ['scheduler'] } });
    const call = async (method: string): Promise<Answer['error']> => {
      const response = await gateway.post('/rpc', JSON.stringify({ jsonrpc: '2.0', method, id: 1 }), { token: SECRETS.all });
      return ((await response.json()) as Answer).error;
    };
    const [absent, down] = [await call('memory.inspect'), await call('cron.list')];
    assert.deepEqual([absent?.data?.['reason'], absent?.data?.['retryable']], ['NOT_INSTALLED', false]);
    assert.match(absent?.message ?? '', /memory service is not installed here.*gateway\.installedServices/);
    assert.deepEqual([down?.data?.['reason'], down?.data?.['code']], ['NO_RESPONDERS', 'UNAVAILABLE']);
  });

  test('limits the body of a token without call scopes', async () => {
    await using gateway = await startTestGateway();
    const { error } = (await (await gateway.post('/rpc', PING, { token: SECRETS.mcp })).json()) as Answer;
    assert.equal(error?.data?.['reason'], 'FORBIDDEN');
    assert.equal((await gateway.post('/rpc', PING.padEnd(20_000), { token: SECRETS.mcp })).status, 413);
    assert.equal((await gateway.post('/rpc', PING.padEnd(20_000), { token: SECRETS.rpc })).status, 200);
  });

  test('returns 401 as a JSON-RPC error without a valid token', async () => {
    await using gateway = await startTestGateway();
    for (const headers of [
      {},
      { authorization: 'Bearer nobody' },
      { authorization: `Basic ${SECRETS.all}` },
      { authorization: SECRETS.all },
    ]) {
      const response = await gateway.post('/rpc', PING, { headers });
      const { id, error } = (await response.json()) as Answer;
      assert.equal(response.status, 401);
      assert.deepEqual([id, error?.code, error?.message], [null, -32603, 'Unauthorized']);
      assert.ok(response.headers.get('www-authenticate')?.startsWith('Bearer'));
    }
    const inQuery = await gateway.post(`/rpc?token=${SECRETS.all}`, PING);
    assert.equal(inQuery.status, 401, 'a token in the URL is for clients that cannot set headers');
  });

  test('accepts JSON only', async () => {
    await using gateway = await startTestGateway();
    const status = async (type: string): Promise<number> =>
      (await gateway.post('/rpc', PING, { token: SECRETS.all, headers: { 'content-type': type } })).status;
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'Application/JSON',
      'application/vnd.api+json',
    ]) {
      assert.equal(await status(type), 200, type);
    }
    for (const type of [
      'text/plain',
      'application/jsonx',
      'application/json; charset=latin1',
      'multipart/form-data',
      'application/x-www-form-urlencoded',
      'json',
    ]) {
      assert.equal(await status(type), 415, type);
    }
    const refused = await gateway.post('/rpc', PING, { token: SECRETS.all, headers: { 'content-type': 'text/json' } });
    assert.deepEqual(await refused.json(), { error: 'Content-Type must be application/json' });
  });

  test('returns 413 for a body above the limit, which can change at run time', async () => {
    await using gateway = await startTestGateway();
    const large = await gateway.post('/rpc', ' '.repeat(2_000_000), { token: SECRETS.all });
    assert.deepEqual([large.status, await large.json()], [413, { error: 'Request body too large' }]);
    gateway.settings.set({ httpBodyLimitBytes: 4_096 });
    assert.equal((await gateway.post('/rpc', PING.padEnd(4_096), { token: SECRETS.all })).status, 200);
    assert.equal((await gateway.post('/rpc', PING.padEnd(4_097), { token: SECRETS.all })).status, 413);
  });

  test('reads a chunked body completely', async () => {
    await using gateway = await startTestGateway();
    const body = new ReadableStream({
      start(controller) {
        for (const character of PING) controller.enqueue(Buffer.from(character));
        controller.close();
      },
    });
    const response = await fetch(`${gateway.url}/rpc`, {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${SECRETS.all}` },
    });
    assert.equal(((await response.json()) as Answer).id, 1);
  });

  test('without a body is a parse error', async () => {
    await using gateway = await startTestGateway();
    const response = await gateway.post('/rpc', '', { token: SECRETS.all });
    assert.deepEqual([response.status, ((await response.json()) as Answer).error?.code], [200, -32700]);
  });

  test('answers a notification before its call completes', SHORT_TIMEOUT, async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: finished, resolve: finish } = Promise.withResolvers<boolean>();
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': async (_params, ctx) => {
          await released;
          finish(ctx.signal.aborted);
          return { messages: [] };
        },
      },
    });
    const response = await gateway.post('/rpc', '{"jsonrpc":"2.0","method":"session.history"}', { token: SECRETS.all });
    assert.equal(response.status, 204);
    release();
    assert.equal(await finished, false);
  });

  test('cancels the call when the client disconnects', SHORT_TIMEOUT, async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<AbortSignal>();
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': async (_params, ctx) => {
          start(ctx.signal);
          await once(ctx.signal, 'abort');
          return { messages: [] };
        },
      },
    });
    const clientRequest = httpRequest(`${gateway.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${SECRETS.all}` },
    });
    clientRequest.on('error', () => undefined).end(HISTORY);
    const signal = await started;
    clientRequest.destroy();
    if (!signal.aborted) await once(signal, 'abort');
  });

  test('two requests in one write are answered in order', async () => {
    await using gateway = await startTestGateway({ handlers: { 'session.history': () => ({ messages: [] }) } });
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    const post = (body: string, last: boolean): string =>
      `POST /rpc HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${SECRETS.all}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${last ? 'connection: close\r\n' : ''}\r\n${body}`;
    socket.write(post(HISTORY.replace('"id":1', '"id":"first"'), false) + post(PING.replace('"id":1', '"id":"second"'), true));
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    assert.deepEqual(text.match(/"id":"\w+"/g), ['"id":"first"', '"id":"second"']);
  });

  test('returns 404 for other methods', async () => {
    await using gateway = await startTestGateway();
    const response = await fetch(`${gateway.url}/rpc`, { headers: { authorization: `Bearer ${SECRETS.all}` } });
    assert.deepEqual([response.status, await response.json()], [404, { error: 'Not Found' }]);
  });
});

describe('the OpenRPC document', () => {
  test('is the same from rpc.discover and GET /openrpc.json, and requires a token', async () => {
    await using gateway = await startTestGateway();
    const discovered = await gateway.post('/rpc', '{"jsonrpc":"2.0","method":"rpc.discover","id":1}', { token: SECRETS.mcp });
    const fetched = await fetch(`${gateway.url}/openrpc.json`, { headers: { authorization: `Bearer ${SECRETS.mcp}` } });
    const document = (await fetched.json()) as OpenRpcDocument;
    assert.deepEqual(((await discovered.json()) as Answer).result, document);
    assert.deepEqual(document.methods, buildOpenRpcDocument({ url: gateway.url, version: '0.0.0' }).methods);
    assert.equal(document.servers[0]?.url, `${gateway.url}/rpc`);
    assert.equal((await fetch(`${gateway.url}/openrpc.json`)).status, 401);
  });

  test('names gateway.publicUrl as its server', async () => {
    await using gateway = await startTestGateway({ settings: { publicUrl: 'https://gate.example/' } });
    const getServerUrl = async (): Promise<string | undefined> => {
      const response = await fetch(`${gateway.url}/openrpc.json`, { headers: { authorization: `Bearer ${SECRETS.mcp}` } });
      return ((await response.json()) as OpenRpcDocument).servers[0]?.url;
    };
    assert.equal(await getServerUrl(), 'https://gate.example/rpc');
    const socket = await gateway.connect();
    const { result } = await socket.request('{"jsonrpc":"2.0","method":"rpc.discover","id":1}');
    assert.equal((result as OpenRpcDocument).servers[0]?.url, 'https://gate.example/rpc');
    gateway.settings.set({ publicUrl: 'https://gate.example/switchyard' });
    assert.equal(await getServerUrl(), 'https://gate.example/switchyard/rpc', 'a changed setting applies at once');
  });
});
