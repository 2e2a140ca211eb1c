import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createSource, putBlob, type BlobStore } from '@switchyard/blob';
import { createLogger, silentLogger } from '@switchyard/telemetry';
import { freePort, startProcess, tempDir } from '@switchyard/testkit';
import { readBlobAccess } from '../variables/blob-access.ts';
import type { Readiness } from '../health/health-registry.ts';
import { openHost } from './host.ts';
import { largePayloads } from '../storage/large-payloads.ts';
import { openBlobs } from '../storage/process-blobs.ts';

const TOKEN = 'x'.repeat(32);
const A = { tenant: 'a' };

test('keeps blobs in the data directory by default and does not serve them', async () => {
  const { url, port, host, token, tls, maxBytes } = await readBlobAccess({}, '/data');
  assert.deepEqual([url, port, host, token, tls, maxBytes], ['file:/data/blobs', undefined, '127.0.0.1', undefined, {}, undefined]);
});

test('rejects invalid blob variables with a sentence without secrets', async () => {
  const refused: [env: Record<string, string>, sentence: string][] = [
    [
      { SWITCHYARD_BLOBS: 'http://u:secret@h' },
      'SWITCHYARD_BLOBS must be file:DIR, mongodb://host:port, grpc://host:port or grpcs://host:port.',
    ],
    [{ SWITCHYARD_BLOBS: 'grpc://h:1' }, 'SWITCHYARD_BLOBS needs SWITCHYARD_BLOB_TOKEN; without it every request is refused.'],
    [{ SWITCHYARD_BLOB_PORT: '0' }, 'SWITCHYARD_BLOB_PORT needs SWITCHYARD_BLOB_TOKEN; without it every request is refused.'],
    [{ SWITCHYARD_BLOB_TOKEN: 'short' }, 'SWITCHYARD_BLOB_TOKEN must have at least 32 characters.'],
    [{ SWITCHYARD_BLOB_PORT: '65536', SWITCHYARD_BLOB_TOKEN: TOKEN }, 'SWITCHYARD_BLOB_PORT must be a port, 0 for a free one, or off.'],
    [{ SWITCHYARD_BLOB_HOST: 'a b' }, 'SWITCHYARD_BLOB_HOST must be an address or a host name, without a port.'],
    [{ SWITCHYARD_BLOB_MAX_BYTES: '1e9' }, 'SWITCHYARD_BLOB_MAX_BYTES must be a number of bytes, 1 or more.'],
    [{ SWITCHYARD_BLOB_TLS_CERT: '/dev/null' }, 'SWITCHYARD_BLOB_TLS_CERT and SWITCHYARD_BLOB_TLS_KEY must be set together.'],
    [{ SWITCHYARD_BLOB_TLS_CA: '/none' }, 'SWITCHYARD_BLOB_TLS_CA names /none, which cannot be read (ENOENT).'],
    [
      { SWITCHYARD_BLOBS: 'grpc://h:1', SWITCHYARD_BLOB_PORT: '0', SWITCHYARD_BLOB_TOKEN: TOKEN },
      'SWITCHYARD_BLOBS names another process, so SWITCHYARD_BLOB_PORT cannot serve a store. Unset one of them.',
    ],
  ];
  for (const [env, message] of refused) await assert.rejects(readBlobAccess(env, '/data'), { name: 'StartError', message });
});

test('serves blobs to another process and limits their size', async () => {
  await using data = await tempDir();
  let text = '';
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void (text += line) } });
  const common = { SWITCHYARD_BLOB_TOKEN: TOKEN, SWITCHYARD_CONFIG: ':' };
  const served = { ...common, SWITCHYARD_DATA: join(data.path, 'one'), SWITCHYARD_BLOB_PORT: '0', SWITCHYARD_BLOB_MAX_BYTES: '100' };
  await using server = await openHost({ env: served, log });
  const port = /"port":(\d+)/.exec(text)?.[1] ?? '';
  const asking = { ...common, SWITCHYARD_DATA: join(data.path, 'other'), SWITCHYARD_BLOBS: `grpc://127.0.0.1:${port}` };
  await using client = await openHost({ env: asking, log: silentLogger() });
  const { id } = await putBlob((await client.blobs()).for(A), createSource(Buffer.alloc(100)), { contentType: 'a/b' });
  assert.equal((await (await server.blobs()).for(A).status(id)).size, 100);
  await assert.rejects(putBlob((await client.blobs()).for(A), createSource(Buffer.alloc(101)), { contentType: 'a/b' }), {
    details: { reason: 'PAYLOAD_TOO_LARGE' },
  });
  await assert.rejects(openHost({ env: { ...served, SWITCHYARD_BLOB_PORT: port }, log: silentLogger() }), {
    name: 'StartError',
    message: `SWITCHYARD_BLOB_PORT: port ${port} on 127.0.0.1 cannot be opened (EADDRINUSE); 0 selects a free one.`,
  });
});

test('a rejected blob token ends the start; an unreachable store is reported and retried', async () => {
  await using data = await tempDir();
  const [token, other] = [`right-${TOKEN}`, `wrong-${TOKEN}`];
  const served = { SWITCHYARD_CONFIG: ':', SWITCHYARD_DATA: join(data.path, 'one'), SWITCHYARD_BLOB_TOKEN: token };
  let text = '';
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void (text += line) } });
  const server = await openHost({ env: { ...served, SWITCHYARD_BLOB_PORT: '0' }, log });
  const port = /"port":(\d+)/.exec(text)?.[1] ?? '';
  const two = `127.0.0.1:${port},127.0.0.1:${port}`;
  const asking = { SWITCHYARD_CONFIG: ':', SWITCHYARD_DATA: join(data.path, 'other'), SWITCHYARD_BLOBS: `grpc://${two}` };
  await assert.rejects(openHost({ env: { ...asking, SWITCHYARD_BLOB_TOKEN: other }, log: silentLogger() }), {
    name: 'StartError',
    message: `The blob store at ${two} does not accept SWITCHYARD_BLOB_TOKEN.`,
  });
  await server[Symbol.asyncDispose]();

  const began = Date.now();
  await using client = await openHost({ env: { ...asking, SWITCHYARD_BLOB_TOKEN: token, SWITCHYARD_METRICS_PORT: '0' }, log });
  assert.ok(Date.now() - began < 10_000, 'nobody waited for it');
  const { status, dependencies } = (await (await fetch(`http://127.0.0.1:${client.ports['metrics']}/readyz`)).json()) as Readiness;
  assert.deepEqual([status, dependencies['blobs']?.ready], ['unavailable', false]);
  while (!text.includes('"dependency":"blobs"')) await delay(5);
  assert.equal(client.health.readiness().dependencies['blobs']?.reason, `the blob store at ${two} does not answer`);
  const signal = new AbortController().signal;
  const large = largePayloads(() => client.blobs(), log);
  await assert.rejects(large.put('a', Buffer.alloc(9), { ttlMs: 1_000, signal }), {
    code: 'UNAVAILABLE',
    message: 'The store of large payloads is not available.',
    details: { reason: 'PAYLOAD_LOST' },
  });
  await using again = await openHost({ env: { ...served, SWITCHYARD_BLOB_PORT: port }, log: silentLogger() });
  assert.ok(await again.blobs());
  while (client.health.readiness().dependencies['blobs']?.ready !== true) await delay(5);
  assert.ok(await large.put('a', Buffer.alloc(9), { ttlMs: 1_000, signal }));
});

test('reports and logs a store that rejects the token after the start', async () => {
  await using data = await tempDir();
  let text = '';
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void (text += line) } });
  const served = { SWITCHYARD_CONFIG: ':', SWITCHYARD_DATA: join(data.path, 'one'), SWITCHYARD_BLOB_TOKEN: `right-${TOKEN}` };
  const port = String(await freePort());
  const asking = { SWITCHYARD_CONFIG: ':', SWITCHYARD_DATA: join(data.path, 'other'), SWITCHYARD_BLOBS: `grpc://127.0.0.1:${port}` };
  const env = { ...asking, SWITCHYARD_BLOB_TOKEN: `wrong-${TOKEN}` };
  const left = await openHost({ env, log });
  await left[Symbol.asyncDispose]();
  await using client = await openHost({ env, log });
  await using _server = await openHost({ env: { ...served, SWITCHYARD_BLOB_PORT: port }, log: silentLogger() });
  const reason = `The blob store at 127.0.0.1:${port} does not accept SWITCHYARD_BLOB_TOKEN.`;
  while (client.health.readiness().dependencies['blobs']?.reason !== reason) await delay(5);
  assert.equal(text.split('calls with large payloads fail').length - 1, 1);
});

test('rejects an invalid certificate at the start', async () => {
  await using data = await tempDir();
  const [cert, key] = [join(data.path, 'cert.pem'), join(data.path, 'key.pem')];
  await Promise.all([cert, key].map((file) => writeFile(file, 'no PEM')));
  const tls = { SWITCHYARD_BLOB_TLS_CERT: cert, SWITCHYARD_BLOB_TLS_KEY: key };
  const env = { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':', SWITCHYARD_BLOB_PORT: '0', SWITCHYARD_BLOB_TOKEN: TOKEN, ...tls };
  await assert.rejects(openHost({ env, log: silentLogger() }), {
    name: 'StartError',
    message: /^SWITCHYARD_BLOB_TLS_CERT and SWITCHYARD_BLOB_TLS_KEY cannot be used \(ERR_\w+\)\.$/,
  });
});

test('expires blobs of an earlier process without any blob request', async () => {
  await using data = await tempDir();
  const blobs = await readBlobAccess({}, data.path);
  const options = { log: silentLogger(), reach: (open: () => Promise<BlobStore>) => open() };
  const before = await openBlobs(blobs, options);
  const expiresAt = Date.now() + 20;
  const { id } = await putBlob((await before.store()).for(A), createSource(Buffer.alloc(9)), { contentType: 'a/b', expiresAt });
  await before[Symbol.asyncDispose]();
  // Directories may be deleted while they are read.
  const files = (): string[] => globSync(`**/*${id}`, { cwd: data.path });
  assert.equal(files().length, 1);
  while (Date.now() <= expiresAt) await delay(5);
  await using after = await openBlobs(blobs, { ...options, lookMs: 1 });
  while (files().length > 0) await delay(5);
  assert.equal(after.port, undefined);
});

test('loads no blob code and creates no directory without blobs', async () => {
  await using data = await tempDir();
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    const { openHost } = await import('${pathToFileURL(`${import.meta.dirname}/host.ts`).href}');
    const { silentLogger } = await import('@switchyard/telemetry');
    const host = await openHost({ env: process.env, log: silentLogger() });
    console.log('loaded ' + loaded.some((url) => /@grpc|blob\\/src\\/(grpc|gridfs|file)\\//.test(url)));
    await host[Symbol.asyncDispose]();`;
  const options = { env: { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':' }, cwd: import.meta.dirname, ready: /loaded (\w+)/ };
  await using child = await startProcess([process.execPath, '--input-type=module', '--eval', script], options);
  assert.equal(child.ready[1], 'false');
  assert.deepEqual(await child.exited, { code: 0, signal: null });
  await assert.rejects(access(join(data.path, 'blobs')), { code: 'ENOENT' });
});
