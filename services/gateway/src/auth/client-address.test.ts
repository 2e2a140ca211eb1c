import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import {
  getAllowedHosts,
  getPeerAddress,
  resolveClientAddress,
  parseHostName,
  isOriginAllowed,
  parseTrustedProxies,
} from './client-address.ts';

const request = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } }) as IncomingMessage;

describe('the address of a client', () => {
  const trusted = parseTrustedProxies(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', 'nonsense', '10.0.0.0/99']);
  for (const [name, peer, forwarded, expected] of [
    ['the peer, when the peer is not a trusted proxy', '198.51.100.7', '203.0.113.1', '198.51.100.7'],
    ['the peer, without a forwarded header', '10.0.0.1', undefined, '10.0.0.1'],
    ['the right-most hop that is not trusted', '10.0.0.1', '1.1.1.1, 203.0.113.9, 10.2.2.2', '203.0.113.9'],
    ['not a hop further left, which a client can forge', '10.0.0.1', '127.0.0.1, 203.0.113.9', '203.0.113.9'],
    ['the last proxy, when a hop is not an address', '10.0.0.1', '203.0.113.9, unknown, 10.2.2.2', '10.2.2.2'],
    ['an IPv4 address in either spelling', '::ffff:192.0.2.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['an IPv4 address in the hexadecimal spelling', '::FFFF:c000:201', '0:0:0:0:0:ffff:cb00:7109', '203.0.113.9'],
    ['the /64 of an IPv6 client behind an IPv6 proxy', 'fd00::1', '2001:db8::1', '2001:db8::/64'],
    ['the same /64 for another address of the client', 'fd00::1', '2001:DB8:0:0:ffff::5%eth0', '2001:db8::/64'],
    ['another /64 for another network', '2001:db8:0:1::1', undefined, '2001:db8:0:1::/64'],
    ['the IPv6 loopback address', '::1', undefined, '::1'],
  ] as const) {
    test(`is ${name}`, () => assert.equal(resolveClientAddress(request(peer, forwarded), trusted), expected));
  }

  test('is grouped for a socket too, and undefined for a trusted proxy', () => {
    const socket = (remoteAddress: string) => ({ remoteAddress }) as Socket;
    assert.equal(getPeerAddress(socket('2001:db8::7'), trusted), '2001:db8::/64');
    assert.equal(getPeerAddress(socket('::ffff:203.0.113.9'), trusted), '203.0.113.9');
    assert.equal(getPeerAddress(socket('fd00::7'), trusted), undefined);
  });

  test('is the peer without trusted proxies', () => {
    assert.equal(parseTrustedProxies([]), undefined);
    assert.equal(resolveClientAddress(request('127.0.0.1', '203.0.113.9'), undefined), '127.0.0.1');
  });
});

describe('the allowed host', () => {
  test('is a loopback name while the gateway listens on loopback', () => {
    for (const host of ['127.0.0.1', 'localhost', '::1', '127.8.8.8']) {
      const hosts = getAllowedHosts(host, ['https://gate.example']);
      assert.ok(hosts);
      for (const name of ['localhost', '127.0.0.1', '[::1]', 'gate.example']) assert.ok(hosts.has(name), name);
      assert.ok(!hosts.has('evil.example'));
    }
    assert.equal(getAllowedHosts('0.0.0.0', []), undefined);
    assert.equal(getAllowedHosts('127.evil.com', []), undefined);
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
    test(`is read from ${String(header)}`, () => assert.equal(parseHostName(header), expected));
  }
});

test('isOriginAllowed accepts the own origin and exact matches of the list', () => {
  const listed = ['https://app.example'];
  assert.ok(isOriginAllowed('http://127.0.0.1:4766', '127.0.0.1:4766', listed));
  assert.ok(isOriginAllowed('https://app.example', '127.0.0.1:4766', listed));
  for (const origin of [
    'null',
    'http://127.0.0.1:1',
    'https://app.example.evil',
    'http://app.example',
    'https://127.0.0.1:4766@evil',
    '',
  ]) {
    assert.ok(!isOriginAllowed(origin, '127.0.0.1:4766', listed), origin);
  }
});
