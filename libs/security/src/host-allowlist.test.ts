import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyNotCalled } from './host-allowlist.ts';

const HOSTS = ['api.example.com', '*.eu.example.com', '127.0.0.1:11434', '[::1]', 'Upper.Example.com'];

test('where some hosts are named no other is called', () => {
  for (const address of [
    'https://api.example.com/v1',
    'http://API.example.com:8080',
    'https://one.eu.example.com',
    'https://a.b.eu.example.com/x',
    'http://127.0.0.1:11434/v1',
    'http://[::1]:1/',
    'https://upper.example.com',
  ])
    assert.equal(whyNotCalled(address, HOSTS), undefined, address);
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
    assert.match(whyNotCalled(address, HOSTS) ?? '', /allowedNetHosts does not name it$/, address);
});

test('where none is named all may be called, and what is no address is for others to refuse', () => {
  assert.equal(whyNotCalled('https://anywhere.example', []), undefined);
  assert.equal(whyNotCalled('no address', HOSTS), undefined);
});
