import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSource, putBlob } from '@switchyard/blob';
import { principal } from '@switchyard/testkit';
import { serveFiles, serveOutside, testMedia } from '../media.fixture.ts';

const TIMEOUT = { timeout: 60_000 };

/** The text of a result between the marks of external content. */
function unwrap(text: string): string {
  return text.split('\n').slice(2, -1).join('\n');
}

test('media.extract_document decides types by bytes, not by names', TIMEOUT, async () => {
  const files = {
    '/plan.pdf': '<!doctype html><title>Timetable</title><h1>Plan</h1><p>Oslo S</p>',
    '/table.txt': 'train,track\nR10,3\nR11,4\n',
    '/data.bin': '{"train": "R10"}',
    '/notes.html': 'Only plain words.',
    '/run.jpg': '#!/bin/bash\necho departures\n',
    '/drawing.png': '<svg xmlns="http://www.w3.org/2000/svg"><title>Yard</title><text>Track 3</text></svg>',
  };
  await using _outside = await serveOutside(['files.example'], serveFiles(files));
  await using app = await testMedia();
  const expected = {
    '/plan.pdf': ['text/html', '# Timetable\n\n# Plan\n\nOslo S'],
    '/table.txt': ['text/csv', 'train,track\nR10,3\nR11,4'],
    '/data.bin': ['application/json', '{"train": "R10"}'],
    '/notes.html': ['text/plain', 'Only plain words.'],
    '/run.jpg': ['application/x-sh', '#!/bin/bash\necho departures'],
    '/drawing.png': ['image/svg+xml', 'Yard\nTrack 3'],
  };
  for (const [path, [mimeType, text]] of Object.entries(expected)) {
    const found = await app.bus.call('media.extract_document', { attachment_url: `http://files.example${path}` });
    assert.deepEqual([found.mimeType, unwrap(found.text), found.fileName], [mimeType, text, path.slice(1)], path);
    assert.equal(found.extractedChars, text?.length);
  }
});

test('media.extract_document reads blobs of the tenant and none of others', TIMEOUT, async () => {
  await using app = await testMedia();
  const put = async (tenant: string): Promise<string> => {
    const blobs = (await app.host.blobs()).for(principal({ tenant }));
    return (await putBlob(blobs, createSource(Buffer.from('Departures')), { contentType: 'image/png' })).id;
  };
  const [own, foreign] = [await put('default'), await put('elsewhere')];
  for (const address of [own, `/media/${own}`, `/media/${own}.png`]) {
    const { text, mimeType, truncated } = await app.bus.call('media.extract_document', { attachment_url: address });
    assert.deepEqual([unwrap(text), mimeType, truncated], ['Departures', 'text/plain', false], address);
  }
  await assert.rejects(app.bus.call('media.extract_document', { attachment_url: foreign }), { code: 'NOT_FOUND' });
});

test('media.extract_document cuts at a word and says so', TIMEOUT, async () => {
  await using _outside = await serveOutside(['files.example'], serveFiles({ '/long': 'word '.repeat(100) }));
  await using app = await testMedia({ settings: { media: { documentExtraction: { maxChars: 52 } } } });
  const found = await app.bus.call('media.extract_document', { attachment_url: 'http://files.example/long' });
  assert.deepEqual([unwrap(found.text), found.truncated], ['word '.repeat(10).trim(), true]);
});

test('media.extract_document decodes the charset of the whole file', TIMEOUT, async () => {
  const latin = Buffer.from('Sm\xf8rg\xe5s p\xe5 S\xf8r', 'latin1');
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Привет', 'utf16le')]);
  const shiftJis = Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x82, 0xc5, 0x82, 0xb7]);
  await using _outside = await serveOutside(['files.example'], serveFiles({ '/latin': latin, '/utf16': utf16, '/jis': shiftJis }));
  await using app = await testMedia();
  const read = async (path: string): Promise<string> =>
    unwrap((await app.bus.call('media.extract_document', { attachment_url: `http://files.example${path}` })).text);
  assert.deepEqual([await read('/latin'), await read('/utf16'), await read('/jis')], ['Smørgås på Sør', 'Привет', '日本語です']);
});

test('media.extract_document names what it refuses', TIMEOUT, async () => {
  const files = {
    '/empty': '',
    '/random': Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7919 + 13) % 256)),
    '/large': 'x'.repeat(2_001),
  };
  await using _outside = await serveOutside(['files.example'], serveFiles(files));
  await using app = await testMedia({
    settings: { media: { documentExtraction: { maxBytes: 2_000_000 }, infrastructure: { maxRemoteFetchBytes: 6_000 } } },
  });
  const cases = [
    ['http://files.example/empty', 'INVALID_ARGUMENT', 'DOCUMENT_EMPTY'],
    ['http://files.example/random', 'INVALID_ARGUMENT', 'DOCUMENT_TYPE_UNSUPPORTED'],
    ['http://files.example/missing', 'NOT_FOUND', undefined],
    ['http://127.0.0.1/', 'PERMISSION_DENIED', 'ADDRESS_NOT_PUBLIC'],
    ['http://files.example:22/', 'INVALID_ARGUMENT', 'INVALID_ADDRESS'],
    ['http://user:secret@files.example/', 'INVALID_ARGUMENT', 'INVALID_ADDRESS'],
    ['file:///etc/passwd', 'INVALID_ARGUMENT', 'INVALID_ADDRESS'],
    ['/etc/passwd', 'INVALID_ARGUMENT', 'INVALID_ADDRESS'],
    ['tg-file://AgACAgI', 'FAILED_PRECONDITION', 'CHANNELS_NOT_INSTALLED'],
    ['/media/blob_0000000000000000000000', 'NOT_FOUND', undefined],
  ] as const;
  for (const [address, code, reason] of cases) {
    const error = await app.bus.call('media.extract_document', { attachment_url: address }).then(
      () => assert.fail(address),
      (failure: { code: string; details: { reason?: string } }) => failure,
    );
    assert.equal(error.code, code, address);
    if (reason !== undefined) assert.equal(error.details.reason, reason, address);
  }
});

test('media.test.document needs the workspace service and reads its files', TIMEOUT, async () => {
  {
    await using app = await testMedia();
    await assert.rejects(app.bus.call('media.test.document', { file_path: 'plan.txt' }), {
      code: 'FAILED_PRECONDITION',
      message: /workspace service, which is not running/,
    });
  }
  await using app = await testMedia({ files: { 'documents/plan.txt': Buffer.from('Departures') } });
  const { text, fileName } = await app.bus.call('media.test.document', { file_path: 'documents/plan.txt' });
  assert.deepEqual([unwrap(text), fileName], ['Departures', 'plan.txt']);
  await assert.rejects(app.bus.call('media.test.document', { file_path: '../../etc/passwd' }), { code: 'NOT_FOUND' });
});
