import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { callables } from '@switchyard/contracts';
import { defineGateway } from '@switchyard/gateway';
import { registry } from '@switchyard/registry';
import { secrets } from '@switchyard/secrets';
import { createSecretReader, startService, type Host } from '@switchyard/service-kit';
import { createLogger, startTelemetry } from '@switchyard/telemetry';
import { principal, startNatsServer, startUpstream, testService } from '@switchyard/testkit';

const SKIP = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const COUNT = 40;

/** Keys of several providers. Each provider's error repeats the key of the request. */
const canaries = Array.from({ length: COUNT }, () => `wren-${randomBytes(24).toString('base64url')}`);
/** Requests to the gateway during the test. */
const told = Array.from({ length: 2 }, () => `finch-${randomBytes(24).toString('base64url')}`);
const TOKEN = 'operator-chosen-'.padEnd(40, 'x');
const getName = (n: number): string => `HOUSE_${n}_API_KEY`;

test('no secret appears on the bus, in logs, traces, metrics, events or answers', { skip: SKIP, timeout: 60_000 }, async () => {
  await using server = await started();
  await using collected = await collecting();
  const receivedMessages: string[] = [];
  const tap = await connect({ servers: server.url });
  tap.subscribe('>', {
    callback: (_, { subject, headers, data }) =>
      void receivedMessages.push(`${subject} ${JSON.stringify([...(headers ?? [])])} ${Buffer.from(data).toString('latin1')}`),
  });
  const echo = (key: string) => ({
    kind: 'status' as const,
    status: 400,
    message: `no: Bearer ${key}, ${key}`,
    headers: { 'x-key': key },
  });
  await using upstream = await startUpstream(...canaries.map(echo));

  const lines: string[] = [];
  const log = createLogger({ level: 'trace', destination: { write: (line: string) => void lines.push(line) } });
  const entry = (n: number) => ({
    type: 'openai-compatible',
    baseUrl: `${upstream.url}/${n}`,
    apiKeyName: getName(n),
    maxRetries: 0,
    models: [{ id: 'm' }],
  });
  const entries = Object.fromEntries(canaries.map((_, n) => [`house-${n}`, entry(n)]));
  const env = {
    SWITCHYARD_BUS: server.url,
    SWITCHYARD_TOKEN: TOKEN,
    SECRETS_MASTER_KEY: randomBytes(32).toString('hex'),
    ...Object.fromEntries(canaries.map((value, n) => [getName(n), value])),
  };
  await using app = await testService(secrets, { as: principal({ scopes: ['*'] }), env, log, settings: { providers: { entries } } });
  await using _registry = await startService(registry, app.host);
  const answers: unknown[] = [];
  for (const n of canaries.keys()) {
    answers.push(await app.bus.call('models.test', { provider: `house-${n}`, model: 'm' }));
    assert.equal(upstream.requests[n]?.headers.authorization, `Bearer ${canaries[n]}`, 'it was used');
  }
  const edge = await openEdge(app.host, TOKEN);
  await using _edge = edge;
  for (const [n, value] of told.entries()) {
    const set = await edge.call('env.set', { key: `TOLD_${n}_KEY`, value });
    assert.equal(set['storage'], 'encrypted');
    answers.push(set, await edge.fail('env.set', { key: `TOLD_${n}_KEY`, vlaue: value }));
    assert.equal(await createSecretReader(await app.host.connect('sessions'), 'sessions')(`TOLD_${n}_KEY`), value);
  }
  const made = await edge.call('tokens.create', { id: 'made', scopes: ['rpc'] });
  const rotated = await edge.call('tokens.rotate', { id: 'made' });
  const minted = [made, rotated].map(({ secret }) => String(secret));
  assert.ok(
    minted.every((secret) => secret.length > 40),
    'who asked for a token has it',
  );
  answers.push(await edge.call('tokens.list', {}));
  answers.push(await app.bus.call('config.read', {}), await app.bus.call('config.get', {}), await app.bus.call('env.list', {}));
  await app.nextEvent('secret:accessed');
  await tap.drain();
  const [spans, metrics, events] = await collected.told();

  assert.ok(receivedMessages.filter((line) => line.includes('secrets.resolve')).length >= COUNT, 'the tap hears the asking');
  assert.ok(
    receivedMessages.some((line) => line.startsWith('evt.')) && receivedMessages.some((line) => line.startsWith('$KV.')),
    'and events, and buckets',
  );
  assert.ok(spans.includes('models.test') && spans.includes('gen_ai'), 'and there are spans of the calls and of the models');
  assert.ok(metrics.includes('gen_ai.client.operation.duration'), 'and metrics');
  assert.ok(events.includes('gen_ai.client.operation.exception'), 'and events of failed calls');
  const { subject } = callables.get('env.set') ?? assert.fail();
  assert.ok(receivedMessages.filter((line) => line.startsWith(subject)).length >= 2 * told.length, 'and the setting of secrets');
  const places = { bus: receivedMessages.join('\n'), log: lines.join(''), answers: JSON.stringify(answers), spans, metrics, events };
  for (const [location, text] of Object.entries(places))
    for (const value of [...canaries, ...told, ...minted])
      for (const form of [value, Buffer.from(value).toString('base64').slice(0, 30), encodeURIComponent(value)])
        assert.ok(!text.includes(form), `${location}: ${text.slice(Math.max(0, text.indexOf(form) - 200), text.indexOf(form) + 50)}`);
});

/** A gateway on the same bus, and a client. */
async function openEdge(host: Host, token: string) {
  let url = '';
  const running = await startService(defineGateway({ onListening: (address) => (url = address) }), host);
  async function post(method: string, params: object): Promise<{ result?: Record<string, unknown>; error?: unknown }> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return (await (await fetch(`${url}/rpc`, { method: 'POST', headers, body })).json()) as Awaited<ReturnType<typeof post>>;
  }
  return {
    async call(method: string, params: object): Promise<Record<string, unknown>> {
      const { result, error } = await post(method, params);
      return result ?? assert.fail(JSON.stringify(error));
    },
    async fail(method: string, params: object): Promise<unknown> {
      const { error } = await post(method, params);
      return error ?? assert.fail('it was done');
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

async function started() {
  const server = await startNatsServer();
  return { url: server.url, [Symbol.asyncDispose]: () => server.stop() };
}

/** Enables traces, metrics and events in this process and records the exported bytes. */
async function collecting() {
  const sent = new Map<string, string>();
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      const path = request.url ?? '';
      sent.set(path, (sent.get(path) ?? '') + body);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // The exporters read the process environment.
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${port}`;
  process.env['OTEL_EXPORTER_OTLP_PROTOCOL'] = 'http/json';
  process.env['OTEL_LOGS_EXPORTER'] = 'otlp';
  const telemetry = await startTelemetry(process.env, { service: 'canaries' });
  return {
    async told(): Promise<[spans: string, metrics: string, events: string]> {
      await telemetry.shutdown();
      return [sent.get('/v1/traces') ?? '', sent.get('/v1/metrics') ?? '', sent.get('/v1/logs') ?? ''];
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
