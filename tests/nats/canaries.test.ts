import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { registry } from '@switchyard/registry';
import { secrets } from '@switchyard/secrets';
import { startService } from '@switchyard/service-kit';
import { createLogger, startTelemetry } from '@switchyard/telemetry';
import { principal, startNatsServer, startUpstream, testService } from '@switchyard/testkit';

const SKIP = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const COUNT = 40;

/** Keys of as many providers, each of which says what it was asked with when it refuses. */
const canaries = Array.from({ length: COUNT }, () => `wren-${randomBytes(24).toString('base64url')}`);
const nameOf = (n: number): string => `HOUSE_${n}_API_KEY`;

test(
  'of forty secrets that are used, none stands in anything that crosses the bus, in a log, a trace, a metric, an event or an answer',
  { skip: SKIP, timeout: 60_000 },
  async () => {
    await using server = await started();
    await using collected = await collecting();
    const heard: string[] = [];
    const tap = await connect({ servers: server.url });
    tap.subscribe('>', {
      callback: (_, { subject, headers, data }) =>
        void heard.push(`${subject} ${JSON.stringify([...(headers ?? [])])} ${Buffer.from(data).toString('latin1')}`),
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
      apiKeyName: nameOf(n),
      maxRetries: 0,
      models: [{ id: 'm' }],
    });
    const entries = Object.fromEntries(canaries.map((_, n) => [`house-${n}`, entry(n)]));
    const env = {
      SWITCHYARD_BUS: server.url,
      SWITCHYARD_TOKEN: 'operator-chosen-'.padEnd(40, 'x'),
      SECRETS_MASTER_KEY: randomBytes(32).toString('hex'),
      ...Object.fromEntries(canaries.map((value, n) => [nameOf(n), value])),
    };
    await using app = await testService(secrets, { as: principal({ scopes: ['*'] }), env, log, settings: { providers: { entries } } });
    await using _registry = await startService(registry, app.host);
    const answers: unknown[] = [];
    for (const n of canaries.keys()) {
      answers.push(await app.bus.call('models.test', { provider: `house-${n}`, model: 'm' }));
      assert.equal(upstream.requests[n]?.headers.authorization, `Bearer ${canaries[n]}`, 'it was used');
    }
    answers.push(await app.bus.call('config.read', {}), await app.bus.call('config.get', {}), await app.bus.call('env.list', {}));
    await app.nextEvent('secret:accessed');
    await tap.drain();
    const [spans, metrics] = await collected.told();

    assert.ok(heard.filter((line) => line.includes('secrets.resolve')).length >= COUNT, 'the tap hears the asking');
    assert.ok(heard.some((line) => line.startsWith('evt.')) && heard.some((line) => line.startsWith('$KV.')), 'and events, and buckets');
    assert.ok(spans.includes('models.test') && spans.includes('gen_ai'), 'and there are spans of the calls and of the models');
    assert.ok(metrics.includes('gen_ai.client.operation.duration'), 'and metrics');
    const told = { bus: heard.join('\n'), log: lines.join(''), answers: JSON.stringify(answers), spans, metrics };
    for (const [where, text] of Object.entries(told))
      for (const value of canaries)
        for (const form of [value, Buffer.from(value).toString('base64').slice(0, 30), encodeURIComponent(value)])
          assert.ok(!text.includes(form), `${where}: ${text.slice(Math.max(0, text.indexOf(form) - 200), text.indexOf(form) + 50)}`);
  },
);

async function started() {
  const server = await startNatsServer();
  return { url: server.url, [Symbol.asyncDispose]: () => server.stop() };
}

/** Has this process trace and measure, and keeps all that it sends, as it is sent. */
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
  // The exporters read the environment of the process.
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${port}`;
  process.env['OTEL_EXPORTER_OTLP_PROTOCOL'] = 'http/json';
  const telemetry = await startTelemetry(process.env, { service: 'canaries' });
  return {
    async told(): Promise<[spans: string, metrics: string]> {
      await telemetry.shutdown();
      return [sent.get('/v1/traces') ?? '', sent.get('/v1/metrics') ?? ''];
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
