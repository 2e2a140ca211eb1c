import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLink, readMediaPath } from './markdown-links.ts';

const ORIGIN = 'http://localhost:4400';

test('readLink names the host that a link leads to', () => {
  assert.deepEqual(readLink('https://example.com:8443/a?b'), { href: 'https://example.com:8443/a?b', host: 'example.com:8443' });
  assert.equal(readLink('https://trusted.example@evil.example/')?.host, 'evil.example');
  assert.equal(readLink('mailto:alice@example.com')?.host, 'alice@example.com');
});

test('readLink refuses scripts, data, files and addresses without a host', () => {
  for (const address of [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,a',
    'blob:x',
    'file:///etc',
    '/app',
    'a',
  ])
    assert.equal(readLink(address), undefined, address);
});

test('readMediaPath accepts pictures of this gateway only', () => {
  assert.equal(readMediaPath('/media/blob_1.png', ORIGIN), '/media/blob_1.png');
  assert.equal(readMediaPath(`${ORIGIN}/media/blob_1`, ORIGIN), '/media/blob_1');
  for (const address of [
    'https://evil.example/media/a',
    '//evil.example/media/a',
    '/media/../rpc',
    '/media/a/meta',
    '/api/audit',
    'media',
    'data:image/png;base64,a',
  ])
    assert.equal(readMediaPath(address, ORIGIN), undefined, address);
});
