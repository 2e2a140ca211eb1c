import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { serveOutside, testMedia } from '../media.fixture.ts';

const TIMEOUT = { timeout: 60_000 };
const KIB = 1_024;

test('an attachment of the outside is read over five redirects at most, without cookies and credentials', TIMEOUT, async () => {
  await using outside = await serveOutside(['files.example'], ({ url = '' }, response) => {
    const left = Number(url.slice(1));
    if (left === 0) response.end('The train leaves at nine.');
    else response.writeHead(302, { location: `/${left - 1}`, 'set-cookie': 'a=b' }).end();
  });
  await using app = await testMedia();
  const extract = (path: string) => app.bus.call('media.extract_document', { attachment_url: `http://files.example/${path}` });
  assert.match((await extract('5')).text, /The train leaves at nine/);
  assert.equal(outside.requests.length, 6);
  for (const { headers } of outside.requests) assert.deepEqual([headers['cookie'], headers['authorization']], [undefined, undefined]);
  await assert.rejects(extract('6'), { code: 'FAILED_PRECONDITION', details: { reason: 'TOO_MANY_REDIRECTS' } });
});

test('an attachment above the limit is refused while it is received, also compressed', TIMEOUT, async () => {
  await using _outside = await serveOutside(['files.example'], ({ url }, response) => {
    if (url === '/announced') response.writeHead(200, { 'content-length': 200 * KIB }).flushHeaders();
    else if (url === '/bomb') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000 * KIB)));
    else response.write(Buffer.alloc(200 * KIB)); // never ends
  });
  await using app = await testMedia({ settings: { media: { infrastructure: { maxRemoteFetchBytes: 100 * KIB } } } });
  for (const path of ['announced', 'bomb', 'endless']) {
    const call = app.bus.call('media.extract_document', { attachment_url: `http://files.example/${path}` });
    await assert.rejects(call, { code: 'FAILED_PRECONDITION', details: { reason: 'RESPONSE_TOO_LARGE' } }, path);
  }
});

test('addresses that must not be read are refused by every method that takes one', TIMEOUT, async () => {
  await using app = await testMedia();
  const addresses: Readonly<Record<string, string>> = {
    'http://127.0.0.1/': 'PERMISSION_DENIED',
    'http://[::ffff:127.0.0.1]/': 'PERMISSION_DENIED',
    'http://2130706433/': 'PERMISSION_DENIED',
    'http://169.254.169.254/latest/meta-data': 'PERMISSION_DENIED',
    'http://10.0.0.1/': 'PERMISSION_DENIED',
    'file:///etc/passwd': 'INVALID_ARGUMENT',
    'ftp://files.example/': 'INVALID_ARGUMENT',
    'http://user:secret@files.example/': 'INVALID_ARGUMENT',
    'no address': 'INVALID_ARGUMENT',
    'tg-file://abc': 'FAILED_PRECONDITION',
    '/media/blob_0000000000000000000000': 'NOT_FOUND',
  };
  const methods = {
    'media.extract_document': (address: string) => app.bus.call('media.extract_document', { attachment_url: address }),
    'media.transcribe': (address: string) => app.bus.call('media.transcribe', { attachment_url: address }),
    'media.describe_video': (address: string) => app.bus.call('media.describe_video', { attachment_url: address }),
    'image.analyze': (address: string) => app.bus.call('image.analyze', { source: address, source_type: 'attachment' }),
    'media.test.vision': (address: string) => app.bus.call('media.test.vision', { url: address }),
    'media.test.video': (address: string) => app.bus.call('media.test.video', { url: address }),
  };
  for (const [address, code] of Object.entries(addresses)) {
    for (const [method, call] of Object.entries(methods)) await assert.rejects(call(address), { code }, `${method} ${address}`);
  }
});
