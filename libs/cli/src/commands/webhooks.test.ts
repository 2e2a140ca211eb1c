import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { runCommand, startServer, TOKEN } from '../command.fixture.ts';

const KEY = 'a key that the operator and the host share';
const run = (url: string, words: string[], env: Record<string, string> = {}) =>
  runCommand(['webhooks', '--url', url, ...words], { cwd: tmpdir(), env: { SWITCHYARD_TOKEN: TOKEN, ...env } });

const CONFIGURED = {
  enabled: true,
  presets: ['github'],
  token: '[REDACTED]',
  mappings: [
    { id: 'ci', match: { path: '/CI/' }, agentId: 'builder' },
    { id: 'shop', match: { path: 'shop', source: 'till' }, scheme: 'standard', secret: '[REDACTED]' },
  ],
};

interface Came {
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Starts a gateway with webhook routes and configuration. */
async function startGateway({ status = 200 } = {}) {
  const came: Came[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { url = '', headers } = request;
      const rpc = url === '/rpc';
      if (!rpc) came.push({ url, headers, body });
      response.writeHead(rpc ? 200 : status, {
        'content-type': 'application/json',
        ...(came.length > 1 ? { 'idempotency-replayed': 'true' } : {}),
      });
      const result = rpc && { jsonrpc: '2.0', id: (JSON.parse(body) as { id: number }).id, result: CONFIGURED };
      response.end(JSON.stringify(result || (status === 200 ? { received: true, mapping: 'ci' } : { error: 'Missing webhook signature' })));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    came,
    [Symbol.asyncDispose]: async () => void (await new Promise((done) => server.close(done))),
  };
}

test('list prints mappings and presets with their signatures', async () => {
  await using server = await startServer({ call: () => CONFIGURED });
  const { code, stdout } = await run(server.url, ['list']);
  assert.equal(code, 0);
  assert.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(server.url, '').split(/ {2,}/)),
    [
      ['/hooks/CI', 'ci', 'agent builder', 'signed with webhooks.token'],
      ['/hooks/shop', 'shop', 'agent default', 'signed with a key of its own', 'from till'],
      ['/hooks/github', 'github', 'agent default', 'signed with webhooks.token', 'a preset'],
    ],
  );
  assert.deepEqual(JSON.parse((await run(server.url, ['-o', 'json'])).stdout), sections.webhooks.parse(CONFIGURED));
});

test('list explains how to enable webhooks', async () => {
  await using server = await startServer({ call: () => ({}) });
  const { stdout, stderr } = await run(server.url, ['list']);
  assert.equal(stdout, '');
  assert.match(stderr, /No mappings[^]*config set webhooks.enabled true/);
});

test('test sends a signed delivery', async () => {
  await using gateway = await startGateway();
  const { code, stdout, stderr } = await run(gateway.url, ['test', 'ci', 'branch=main'], { SWITCHYARD_WEBHOOK_KEY: KEY });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\/hooks\/ci accepted the delivery: \{"received":true,"mapping":"ci"\}\n$/);
  const [{ url, headers, body } = assert.fail()] = gateway.came;
  assert.deepEqual([url, JSON.parse(body)], ['/hooks/ci', { branch: 'main' }]);
  assert.equal(headers['x-webhook-signature'], createHmac('sha256', KEY).update(body).digest('hex'));
  assert.ok(Math.abs(Number(headers['x-webhook-timestamp']) - Date.now() / 1_000) < 60);
  const again = await run(gateway.url, ['test', 'ci', 'branch=main'], { SWITCHYARD_WEBHOOK_KEY: KEY });
  assert.match(again.stdout, /accepted the delivery as a repetition/);
  assert.ok(!again.stdout.includes(KEY) && !again.stderr.includes(KEY));
});

test('test signs with the scheme of the mapping or preset', async () => {
  await using gateway = await startGateway();
  for (const path of ['shop', 'github']) await run(gateway.url, ['test', path, 'a=1'], { SWITCHYARD_WEBHOOK_KEY: KEY });
  const [standard, github] = gateway.came.map(({ headers, body }) => ({ headers, body }));
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = standard?.headers ?? {};
  const signed = `${String(id)}.${String(at)}.${standard?.body}`;
  assert.equal(signature, `v1,${createHmac('sha256', KEY).update(signed).digest('base64')}`);
  assert.equal(
    github?.headers['x-hub-signature-256'],
    `sha256=${createHmac('sha256', KEY)
      .update(github?.body ?? '')
      .digest('hex')}`,
  );
});

test('prints the reason of a rejected delivery', async () => {
  await using gateway = await startGateway({ status: 401 });
  const { code, stderr } = await run(gateway.url, ['test', 'ci']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /not signed, because SWITCHYARD_WEBHOOK_KEY[^]*refused the delivery with status 401: Missing webhook signature\n +next: read -rs SWITCHYARD_WEBHOOK_KEY/,
  );
});

test('rejects unknown subcommands', async () => {
  await using server = await startServer();
  for (const words of [['burn'], ['list', 'x'], ['test'], ['test', 'a=1']])
    assert.equal((await run(server.url, words)).code, 2, words.join(' '));
});
