import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { allowedHosts, clientAddress, hostName, originAllowed, trustedList } from './client-address.ts';

const request = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } }) as IncomingMessage;

describe('the address of a client', () => {
  const trusted = trustedList(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', 'nonsense', '10.0.0.0/99']);
  for (const [name, peer, forwarded, expected] of [
    ['the peer, when it is no proxy of ours', '198.51.100.7', '203.0.113.1', '198.51.100.7'],
    ['the peer, when nothing was forwarded', '10.0.0.1', undefined, '10.0.0.1'],
    ['the right-most hop that is not ours', '10.0.0.1', '1.1.1.1, 203.0.113.9, 10.2.2.2', '203.0.113.9'],
    ['never what a client wrote further left', '10.0.0.1', '127.0.0.1, 203.0.113.9', '203.0.113.9'],
    ['the last proxy, when a hop is no address', '10.0.0.1', '203.0.113.9, unknown, 10.2.2.2', '10.2.2.2'],
    ['an IPv4 address in either spelling', '::ffff:192.0.2.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['an IPv6 client behind an IPv6 proxy', 'fd00::1', '2001:db8::1', '2001:db8::1'],
  ] as const) {
    test(`is ${name}`, () => assert.equal(clientAddress(request(peer, forwarded), trusted), expected));
  }

  test('is the peer while nobody is trusted', () => {
    assert.equal(trustedList([]), undefined);
    assert.equal(clientAddress(request('127.0.0.1', '203.0.113.9'), undefined), '127.0.0.1');
  });
});

describe('the host', () => {
  test('is one of this machine while only this machine can reach us', () => {
    for (const host of ['127.0.0.1', 'localhost', '::1', '127.8.8.8']) {
      const hosts = allowedHosts(host, ['https://gate.example']);
      assert.ok(hosts);
      for (const known of ['localhost', '127.0.0.1', '[::1]', 'gate.example']) assert.ok(hosts.has(known), known);
      assert.ok(!hosts.has('evil.example'));
    }
    assert.equal(allowedHosts('0.0.0.0', []), undefined);
    assert.equal(allowedHosts('127.evil.com', []), undefined);
  });

  for (const [header, expected] of [
    ['localhost:4766', 'localhost'],
    ['LOCALHOST', 'localhost'],
    ['[::1]:80', '[::1]'],
    ['127.0.0.1', '127.0.0.1'],
    ['user@localhost', undefined],
    ['localhost:evil', undefined],
    ['localhost/', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    test(`is read from ${String(header)}`, () => assert.equal(hostName(header), expected));
  }
});

test('an origin is allowed when it is ours or listed, exactly', () => {
  const listed = ['https://app.example'];
  assert.ok(originAllowed('http://127.0.0.1:4766', '127.0.0.1:4766', listed));
  assert.ok(originAllowed('https://app.example', '127.0.0.1:4766', listed));
  for (const origin of [
    'null',
    'http://127.0.0.1:1',
    'https://app.example.evil',
    'http://app.example',
    'https://127.0.0.1:4766@evil',
    '',
  ]) {
    assert.ok(!originAllowed(origin, '127.0.0.1:4766', listed), origin);
  }
});
