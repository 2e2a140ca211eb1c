import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { listen, openEgress } from './egress.fixture.ts';
import { mapHosts } from './testing.ts';

const TIMEOUT = { timeout: 20_000 };
const refused = (reason: string): object => ({ details: { reason } });

test('follows redirects and reports the last address', TIMEOUT, async () => {
  await using outside = await listen(({ url }, response) => {
    if (url === '/end') response.end('here');
    else response.writeHead(302, { location: '/end' }).end();
  });
  using _hosts = mapHosts({ 'one.example': { port: outside.port } });
  await using egress = openEgress();
  const response = await egress.fetch('http://one.example/start');
  assert.deepEqual([response.status, response.url, await response.text()], [200, 'http://one.example/end', 'here']);
});

test('limits the number of redirects, and refuses one if none is allowed', TIMEOUT, async () => {
  await using outside = await listen((_, response) => response.writeHead(307, { location: '/' }).end());
  using _hosts = mapHosts({ 'loop.example': { port: outside.port } });
  await using egress = openEgress();
  await assert.rejects(egress.fetch('http://loop.example/', { maxRedirects: 3 }), refused('TOO_MANY_REDIRECTS'));
  assert.equal(outside.requests.length, 4);
  await assert.rejects(egress.fetch('http://loop.example/', { maxRedirects: 0 }), refused('REDIRECT_REFUSED'));
});

test('refuses a redirect to another scheme and to credentials in the URL', TIMEOUT, async () => {
  for (const location of ['file:///etc/passwd', 'ftp://one.example/', 'data:text/plain,x', 'http://user:secret@one.example/', 'http://']) {
    await using outside = await listen((_, response) => response.writeHead(302, { location }).end());
    using _hosts = mapHosts({ 'one.example': { port: outside.port } });
    await using egress = openEgress();
    await assert.rejects(egress.fetch('http://one.example/'), refused('ADDRESS_BLOCKED'), location);
  }
});

test('sends credentials and the headers of the caller only to their origin', TIMEOUT, async () => {
  await using second = await listen((_, response) => response.end('second'));
  await using first = await listen((_, response) => response.writeHead(302, { location: 'http://second.example/' }).end());
  using _hosts = mapHosts({ 'first.example': { port: first.port }, 'second.example': { port: second.port } });
  await using egress = openEgress();
  await egress.fetch('http://first.example/', {
    headers: { authorization: 'Bearer caller', cookie: 'a=b', 'x-api-key': 'caller', accept: 'text/plain' },
    credentials: {
      'http://first.example': { 'x-token': 'first' },
      'https://second.example': { 'x-token': 'another scheme' },
      'http://second.example:8080': { 'x-token': 'another port' },
    },
  });
  const pick = (headers: Record<string, unknown> = {}): unknown[] =>
    ['authorization', 'cookie', 'x-api-key', 'x-token', 'accept'].map((name) => headers[name]);
  assert.deepEqual(pick(first.requests[0]?.headers), ['Bearer caller', 'a=b', 'caller', 'first', 'text/plain']);
  assert.deepEqual(pick(second.requests[0]?.headers), [undefined, undefined, undefined, undefined, 'text/plain']);
});

test('sends the body again after 307 and no body after 303', TIMEOUT, async () => {
  for (const [status, expected] of [
    [307, ['POST', '4']],
    [303, ['GET', undefined]],
  ] as const) {
    await using outside = await listen(({ url }, response) => {
      if (url === '/end') response.end();
      else response.writeHead(status, { location: '/end' }).end();
    });
    using _hosts = mapHosts({ 'one.example': { port: outside.port } });
    await using egress = openEgress();
    await egress.fetch('http://one.example/', { method: 'POST', body: 'body', headers: { 'content-type': 'text/plain' } });
    const [, last] = outside.requests;
    assert.deepEqual([last?.method, last?.headers['content-length']], expected, String(status));
  }
});

test('limits the announced, the sent and the decoded size of a response', TIMEOUT, async () => {
  await using outside = await listen(({ url }, response) => {
    if (url === '/announced') response.setHeader('content-length', 2_000);
    if (url === '/encoded') response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(1_000_000)));
    else response.end(Buffer.alloc(2_000));
  });
  using _hosts = mapHosts({ 'large.example': { port: outside.port } });
  await using egress = openEgress();
  const read = async (path: string, maxBytes: number): Promise<number> =>
    (await (await egress.fetch(`http://large.example${path}`, { maxBytes })).arrayBuffer()).byteLength;
  for (const path of ['/announced', '/sent', '/encoded']) await assert.rejects(read(path, 1_999), refused('RESPONSE_TOO_LARGE'), path);
  assert.deepEqual([await read('/sent', 2_000), await read('/encoded', 1_000_000)], [2_000, 1_000_000]);
});

test('accepts only the content types of the request', TIMEOUT, async () => {
  await using outside = await listen(({ url = '' }, response) => {
    if (url !== '/none') response.setHeader('content-type', decodeURIComponent(url.slice(1)));
    response.end('x');
  });
  using _hosts = mapHosts({ 'types.example': { port: outside.port } });
  await using egress = openEgress();
  const contentTypes = ['text/', 'application/json'];
  const ask = async (type: string): Promise<string> =>
    (await egress.fetch(`http://types.example/${encodeURIComponent(type)}`, { contentTypes })).text();
  for (const type of ['text/html; charset=utf-8', 'Application/JSON', 'text/plain']) assert.equal(await ask(type), 'x');
  for (const type of ['none', 'application/jsonx', 'image/png', 'application/text/html']) {
    await assert.rejects(ask(type), refused('CONTENT_TYPE_NOT_ALLOWED'), type);
  }
});

test('ends a request that takes longer than its time limit, before and inside the body', TIMEOUT, async () => {
  await using outside = await listen(({ url }, response) => {
    if (url === '/body') response.write('part');
  });
  using _hosts = mapHosts({ 'slow.example': { port: outside.port } });
  await using egress = openEgress();
  const read = async (path: string): Promise<string> => (await egress.fetch(`http://slow.example${path}`, { timeoutMs: 500 })).text();
  for (const path of ['/head', '/body']) await assert.rejects(read(path), { code: 'DEADLINE_EXCEEDED' }, path);
});

test('rejects with the reason of the caller that aborts', TIMEOUT, async () => {
  const reason = new Error('the caller left');
  const controller = new AbortController();
  await using outside = await listen(() => controller.abort(reason));
  using _hosts = mapHosts({ 'slow.example': { port: outside.port } });
  await using egress = openEgress();
  await assert.rejects(egress.fetch('http://slow.example/', { signal: controller.signal }), reason);
});

test('calls no host outside allowedNetHosts, at first and after a redirect', TIMEOUT, async () => {
  await using outside = await listen((_, response) => response.writeHead(302, { location: 'http://other.example/' }).end());
  using _hosts = mapHosts({ 'one.example': { port: outside.port }, 'other.example': { port: outside.port } });
  await using egress = openEgress({ allowedNetHosts: ['one.example'] });
  await assert.rejects(egress.fetch('http://other.example/'), /allowedNetHosts does not include it/);
  await assert.rejects(egress.fetch('http://one.example/'), /other\.example must not be called/);
  assert.equal(outside.requests.length, 1);
});

test('reports a host that cannot be reached as UNAVAILABLE', TIMEOUT, async () => {
  const gone = await listen(() => undefined);
  await gone[Symbol.asyncDispose]();
  using _hosts = mapHosts({ 'gone.example': { port: gone.port } });
  await using egress = openEgress();
  await assert.rejects(egress.fetch('http://gone.example/'), { code: 'UNAVAILABLE', details: { reason: 'UPSTREAM_UNREACHABLE' } });
});
