import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasConflictingAuthority } from './request-authority.ts';

const conflicts = (url: string, ...hosts: string[]): boolean =>
  hasConflictingAuthority({
    url,
    headers: hosts[0] === undefined ? {} : { host: hosts[0] },
    rawHeaders: hosts.flatMap((host) => ['Host', host]),
  });

test('hasConflictingAuthority accepts one Host header, and none', () => {
  assert.equal(conflicts('/rpc', 'gate.example'), false);
  assert.equal(conflicts('/rpc'), false);
  assert.equal(conflicts('*', 'gate.example'), false);
});

test('hasConflictingAuthority rejects a second Host header in any spelling, even an equal one', () => {
  assert.equal(conflicts('/rpc', 'gate.example', 'gate.example'), true);
  const headers = { host: 'gate.example' };
  assert.equal(hasConflictingAuthority({ url: '/', headers, rawHeaders: ['Host', 'gate.example', 'hOsT', 'other.example'] }), true);
});

test('hasConflictingAuthority compares an absolute target with the Host header', () => {
  assert.equal(conflicts('http://gate.example/rpc', 'gate.example'), false);
  assert.equal(conflicts('http://gate.example:80/rpc', 'GATE.example'), false);
  assert.equal(conflicts('http://other.example/rpc', 'gate.example'), true);
  assert.equal(conflicts('http://gate.example@other.example/rpc', 'gate.example'), true);
  assert.equal(conflicts('http://gate.example:81/rpc', 'gate.example'), true);
  assert.equal(conflicts('http://gate.example/rpc'), true);
  assert.equal(conflicts('gate.example:443', 'gate.example'), true);
});
