import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { tempDir } from '@switchyard/testkit';
import { startTestGateway, type TestGateway } from '../gateway.fixture.ts';

const PAGE = '<!doctype html><title>ours</title>';

async function withDashboard() {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  await mkdir(join(path, 'app/assets'), { recursive: true });
  await writeFile(join(path, 'secret.txt'), 'not to be had');
  await writeFile(join(path, 'app/index.html'), PAGE);
  await writeFile(join(path, 'app/.env'), 'not to be had');
  await writeFile(join(path, 'app/assets/main.4f2a.js'), 'export {};');
  await symlink(join(path, 'secret.txt'), join(path, 'app/link.txt'));
  const gateway = stack.use(await startTestGateway({ settings: { web: { enabled: true, path: join(path, 'app') } } }));
  return {
    gateway,
    get: (file: string, headers = {}) => fetch(`${gateway.url}${file}`, { headers, redirect: 'manual' }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Sends the path unchanged. `fetch` would remove the dots. */
async function requestPath({ url }: TestGateway, path: string): Promise<[number | undefined, string]> {
  const [response] = (await once(request(url, { path }).end(), 'response')) as [IncomingMessage];
  return [response.statusCode, (await Array.fromAsync(response)).join('')];
}

test('serves the dashboard without a token and redirects / to it', async () => {
  await using t = await withDashboard();
  const root = await t.get('/');
  assert.deepEqual([root.status, root.headers.get('location')], [302, '/app/']);
  const page = await t.get('/app/');
  assert.deepEqual([page.status, page.headers.get('content-type'), await page.text()], [200, 'text/html; charset=utf-8', PAGE]);
  assert.equal(await (await t.get('/app/sessions/today')).text(), PAGE, 'a client-side route returns the page');
  assert.equal((await t.get('/app/assets/gone.js')).status, 404);
});

test('revalidates pages and caches assets for a year', async () => {
  await using t = await withDashboard();
  const page = await t.get('/app/');
  assert.equal(page.headers.get('cache-control'), 'no-cache');
  assert.equal((await t.get('/app/', { 'if-none-match': page.headers.get('etag') ?? '' })).status, 304);
  const asset = await t.get('/app/assets/main.4f2a.js');
  assert.deepEqual(
    [asset.headers.get('content-type'), asset.headers.get('cache-control')],
    ['text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
  );
});

test('sends the compressed file that the client accepts', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'index.html'), PAGE);
  await writeFile(join(dir.path, 'index.html.br'), brotliCompressSync(PAGE));
  await writeFile(join(dir.path, 'index.html.gz'), gzipSync(PAGE));
  await using gateway = await startTestGateway({ settings: { web: { enabled: true, path: dir.path } } });
  for (const [accepted, sent] of [
    ['gzip, br', 'br'],
    ['gzip, br;q=0', 'gzip'],
    ['deflate', null],
  ] as const) {
    const response = await fetch(`${gateway.url}/app/`, { headers: { 'accept-encoding': accepted } });
    assert.deepEqual([response.headers.get('content-encoding'), response.headers.get('vary')], [sent, 'accept-encoding'], accepted);
    assert.equal(await response.text(), PAGE);
  }
});

test('the page forbids other origins and framing', async () => {
  await using t = await withDashboard();
  const { headers } = await t.get('/app/');
  const policy = headers.get('content-security-policy') ?? '';
  for (const rule of ["default-src 'none'", "script-src 'self'", "img-src 'self' data:", "object-src 'none'", "frame-ancestors 'none'"])
    assert.ok(policy.includes(rule), policy);
  assert.deepEqual(
    ['x-frame-options', 'x-content-type-options', 'referrer-policy'].map((name) => headers.get(name)),
    ['DENY', 'nosniff', 'no-referrer'],
  );
});

test('serves no files outside the directory, no links and no hidden files', async () => {
  await using t = await withDashboard();
  for (const path of [
    '/app/../secret.txt',
    '/app/%2e%2e/secret.txt',
    '/app/..%2fsecret.txt',
    '/app/link.txt',
    '/app/.env',
    '/app//etc/passwd.txt',
  ]) {
    const [status, text] = await requestPath(t.gateway, path);
    assert.ok((status === 200 && text === PAGE) || status === 404, `${path}: ${status}`);
    assert.ok(!text.includes('not to be had'), path);
  }
});

test('returns 404 with the setting when no dashboard is configured', async () => {
  await using gateway = await startTestGateway();
  for (const path of ['/', '/app/', '/app/assets/x.js']) {
    const response = await fetch(gateway.url + path, { redirect: 'manual' });
    assert.equal(response.status, 404, path);
    assert.match(((await response.json()) as { error: string }).error, /No dashboard is installed\. Set gateway\.web\.path/);
  }
});

test('refuses a directory with more entries than a built dashboard has', async () => {
  await using large = await tempDir();
  await writeFile(join(large.path, 'index.html'), PAGE);
  for (let n = 0; n < 2_000; n++) await mkdir(join(large.path, `d${n}`));
  await assert.rejects(startTestGateway({ settings: { web: { enabled: true, path: large.path } } }), /more than 2000 entries/);
});

test('fails to start for a directory without an index page', async () => {
  await using empty = await tempDir();
  for (const path of [empty.path, join(empty.path, 'nowhere')])
    await assert.rejects(startTestGateway({ settings: { web: { enabled: true, path } } }), /^\w*Error: gateway\.web\.path: /);
});
