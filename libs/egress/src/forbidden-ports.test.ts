import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { checkDestination, readUrlDestination, type AddressChecks } from './connector.ts';
import { listen, listenEverywhere, openEgress } from './egress.fixture.ts';
import { createEgress } from './egress.ts';
import { mapHosts } from './testing.ts';

const PORT_BLOCKED = { details: { reason: 'PORT_BLOCKED' } };
const PUBLIC: AddressChecks = { reach: 'public', allowHosts: () => [] };

/** Services that trust their network, and the neighbours of the allowed ports. */
const FORBIDDEN_PORTS = [
  1, 7, 21, 22, 23, 25, 53, 79, 81, 110, 111, 143, 389, 442, 444, 445, 465, 587, 631, 993, 1_433, 2_049, 2_375, 3_000, 3_306, 4_222, 5_432,
  5_672, 6_379, 6_443, 8_000, 8_079, 8_081, 8_222, 8_442, 8_444, 8_500, 9_090, 9_200, 10_250, 11_211, 15_672, 27_017, 65_535,
];

test('allows the ports of web servers and no other port, by name and by address', () => {
  for (const host of ['public.example', '93.184.215.14', '[2606:2800:21f:cb07:6820:80da:af6b:8b2c]']) {
    for (const port of ['', ':80', ':443', ':8080', ':8443'])
      for (const scheme of ['http', 'https']) checkDestination(readUrlDestination(new URL(`${scheme}://${host}${port}/`)), PUBLIC);
    for (const port of FORBIDDEN_PORTS) {
      const destination = readUrlDestination(new URL(`http://${host}:${port}/`));
      assert.throws(() => checkDestination(destination, PUBLIC), PORT_BLOCKED, `${host}:${port}`);
      checkDestination(destination, { ...PUBLIC, allowHosts: () => [`${host}:${port}`] });
      checkDestination(destination, { ...PUBLIC, allowHosts: () => [host] });
      assert.throws(() => checkDestination(destination, { ...PUBLIC, allowHosts: () => [`${host}:80`] }), PORT_BLOCKED);
      checkDestination(destination, { ...PUBLIC, reach: 'configured' });
    }
  }
});

test('refuses a forbidden port in a URL and in a redirect', async () => {
  await using silent = await listenEverywhere();
  const target = `http://silent.example:${silent.port}/`;
  await using outside = await listen((_, response) => response.writeHead(302, { location: target }).end());
  using _hosts = mapHosts({ 'outside.example': { port: outside.port }, 'silent.example': { port: silent.port } });
  await using egress = openEgress();
  await assert.rejects(egress.fetch(target), PORT_BLOCKED);
  await assert.rejects(egress.fetch('http://outside.example/'), PORT_BLOCKED);
  assert.deepEqual([outside.requests.length, silent.connections], [1, 0]);
});

test('allowLoopback lifts the checks for this machine by its own names only', async () => {
  await using inside = await listen((_, response) => response.end('inside'));
  const security = sections.security.parse({});
  let allowed = true;
  await using egress = createEgress({ settings: () => security, allowLoopback: () => allowed });
  const fetch = (host: string) => egress.fetch(`http://${host}:${inside.port}/`);
  for (const host of ['127.0.0.1', 'localhost', '2130706433']) assert.equal(await (await fetch(host)).text(), 'inside', host);
  for (const host of ['0.0.0.0', '[::]', '10.0.0.1', '169.254.169.254', 'other.example'])
    await assert.rejects(fetch(host), PORT_BLOCKED, host);
  using _hosts = mapHosts({ 'rebinding.example': { port: inside.port, addresses: () => ['127.0.0.1'] } });
  await assert.rejects(egress.fetch('http://rebinding.example/'), { details: { reason: 'ADDRESS_BLOCKED' } });
  await assert.rejects(egress.fetch('http://0.0.0.0/'), { details: { reason: 'ADDRESS_BLOCKED' } });
  allowed = false;
  await assert.rejects(fetch('127.0.0.1'), PORT_BLOCKED);
  await assert.rejects(egress.fetch('http://127.0.0.1/'), { details: { reason: 'ADDRESS_BLOCKED' } });
});
