import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainBlockedHost } from './host-allowlist.ts';

const HOSTS = ['api.example.com', '*.eu.example.com', '127.0.0.1:11434', '[::1]', 'Upper.Example.com'];

test('rejects every host that is not on the list', () => {
  for (const address of [
    'https://api.example.com/v1',
    'http://API.example.com:8080',
    'https://one.eu.example.com',
    'https://a.b.eu.example.com/x',
    'http://127.0.0.1:11434/v1',
    'http://[::1]:1/',
    'https://upper.example.com',
  ])
    assert.equal(explainBlockedHost(address, HOSTS), undefined, address);
  for (const address of [
    'https://example.com',
    'https://eu.example.com',
    'https://xeu.example.com',
    'https://api.example.com.evil.test',
    'https://api.example.com@evil.test/',
    'http://127.0.0.1:11435',
    'http://127.0.0.1',
    'http://[::2]/',
  ])
    assert.match(explainBlockedHost(address, HOSTS) ?? '', /allowedNetHosts does not include it$/, address);
});

test('accepts every host with an empty list, and skips malformed addresses', () => {
  assert.equal(explainBlockedHost('https://anywhere.example', []), undefined);
  assert.equal(explainBlockedHost('no address', HOSTS), undefined);
});
