import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listen, listenEverywhere, openEgress } from './egress.fixture.ts';
import { FORBIDDEN_ANSWERS, FORBIDDEN_HOSTS } from './forbidden-addresses.fixture.ts';
import { allowPort, mapHosts } from './testing.ts';

const BLOCKED = { details: { reason: 'ADDRESS_BLOCKED' } };
const PORT_BLOCKED = { details: { reason: 'PORT_BLOCKED' } };
const TIMEOUT = { timeout: 60_000 };
/** Passes every check; the host map sends it to a listener of the test. */
const PUBLIC = '93.184.215.14';

test('the table has at least 200 spellings and answers', () => {
  assert.ok(new Set([...FORBIDDEN_HOSTS, ...FORBIDDEN_ANSWERS]).size >= 200, String(FORBIDDEN_HOSTS.length));
});

test('refuses each spelling of a forbidden address in a URL', TIMEOUT, async () => {
  await using silent = await listenEverywhere();
  using _port = allowPort(silent.port);
  await using egress = openEgress();
  for (const host of FORBIDDEN_HOSTS) await assert.rejects(egress.fetch(`http://${host}:${silent.port}/`), BLOCKED, host);
  assert.equal(silent.connections, 0);
});

test('refuses each spelling of a forbidden address in a redirect', TIMEOUT, async () => {
  await using silent = await listenEverywhere();
  using _port = allowPort(silent.port);
  await using outside = await listen(({ url = '' }, response) => {
    response.removeHeader('connection'); // the connection is reused, because only the redirect matters
    const host = FORBIDDEN_HOSTS[Number(url.slice(1))] ?? '';
    // A header has bytes, so that other characters are sent percent-encoded, as servers send them.
    response
      .writeHead(302, {
        location: `http://${encodeURI(host).replaceAll('%25', '%').replaceAll('%5B', '[').replaceAll('%5D', ']')}:${silent.port}/`,
      })
      .end();
  });
  using _hosts = mapHosts({ 'outside.example': { port: outside.port } });
  await using egress = openEgress();
  for (const [index, host] of FORBIDDEN_HOSTS.entries()) {
    await assert.rejects(egress.fetch(`http://outside.example/${index}`), BLOCKED, host);
  }
  assert.deepEqual([outside.requests.length, silent.connections], [FORBIDDEN_HOSTS.length, 0]);
});

test('refuses each forbidden address in a DNS answer, alone and beside a public address', TIMEOUT, async () => {
  await using silent = await listenEverywhere();
  using _port = allowPort(silent.port);
  await using egress = openEgress();
  for (const address of FORBIDDEN_ANSWERS) {
    for (const addresses of [[address], [PUBLIC, address]]) {
      using _hosts = mapHosts({ 'answer.example': { port: silent.port, addresses: () => addresses } });
      await assert.rejects(egress.fetch('http://answer.example/'), BLOCKED, addresses.join());
    }
  }
  assert.equal(silent.connections, 0);
});

test('refuses each forbidden address that a name has at its second resolution', TIMEOUT, async () => {
  await using outside = await listen((_, response) => response.end('public'));
  await using egress = openEgress();
  for (const address of FORBIDDEN_ANSWERS) {
    let resolutions = 0;
    const addresses = (): string[] => (resolutions++ === 0 ? [PUBLIC] : [address]);
    using _hosts = mapHosts({ 'rebinding.example': { port: outside.port, addresses } });
    assert.equal(await (await egress.fetch('http://rebinding.example/')).text(), 'public', address);
    assert.equal(resolutions, 1, 'one resolution for each connection');
    await assert.rejects(egress.fetch('http://rebinding.example/'), BLOCKED, address);
  }
  assert.equal(outside.requests.length, FORBIDDEN_ANSWERS.length);
});

test('resolves a real name once and refuses its loopback addresses', TIMEOUT, async () => {
  await using silent = await listenEverywhere();
  using _port = allowPort(silent.port);
  await using egress = openEgress();
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1.', '%6cocalhost']) {
    await assert.rejects(egress.fetch(`http://${host}:${silent.port}/`), BLOCKED, host);
  }
  assert.equal(silent.connections, 0);
});

test('reaches a forbidden address whose host the operator allows, with and without a port', TIMEOUT, async () => {
  await using inside = await listen((_, response) => response.end('inside'));
  const url = `http://localhost:${inside.port}/`;
  for (const entry of ['localhost', `localhost:${inside.port}`]) {
    await using egress = openEgress({ allowHosts: [entry] });
    assert.equal(await (await egress.fetch(url)).text(), 'inside');
    await assert.rejects(egress.fetch(`http://127.0.0.1:${inside.port}/`), PORT_BLOCKED);
  }
  await using other = openEgress({ allowHosts: ['localhost:1'] });
  await assert.rejects(other.fetch(url), PORT_BLOCKED);
  using _port = allowPort(inside.port);
  await assert.rejects(other.fetch(url), BLOCKED);
});

test('a configured address may be local, but no metadata service in any form', TIMEOUT, async () => {
  await using inside = await listen((_, response) => response.end('inside'));
  await using egress = openEgress({}, 'configured');
  assert.equal(await (await egress.fetch(`http://127.0.0.1:${inside.port}/`)).text(), 'inside');
  for (const host of [
    '169.254.169.254',
    '2852039166',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::a9fe:a9fe]',
    '[fd00:ec2::254]',
    '[2002:a9fe:a9fe::1]',
  ]) {
    await assert.rejects(egress.fetch(`http://${host}/`), BLOCKED, host);
  }
  using _hosts = mapHosts({ 'metadata.example': { port: inside.port, addresses: () => ['169.254.169.254'] } });
  await assert.rejects(egress.fetch('http://metadata.example/'), BLOCKED);
});
