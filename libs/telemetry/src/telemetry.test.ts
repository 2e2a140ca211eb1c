import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { startSpan, withSpan } from './spans.ts';
import { startTelemetry } from './telemetry.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const HEADER = `00-${TRACE}-00f067aa0ba902b7-01`;
const INDEX = pathToFileURL(`${import.meta.dirname}/index.ts`).href;

interface Received {
  path: string;
  body: string;
}

async function openCollector() {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void readAll(request).then((body) => {
      received.push({ path: request.url ?? '', body });
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

/** Runs in its own process, because telemetry is process-wide. */
async function run(script: string, env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { env: { PATH: process.env['PATH'], ...env } });
  const out: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => out.push(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => out.push(text));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0, out.join(''));
  return out.join('');
}

test('passes the parent through while tracing is off', async () => {
  assert.equal(
    withSpan('x', {}, HEADER, (span) => span.traceparent),
    HEADER,
  );
  assert.equal(startSpan('x').traceparent, undefined);
  await assert.rejects(
    withSpan('x', {}, undefined, () => Promise.reject(new Error('as thrown'))),
    /as thrown/,
  );
});

test('loads no SDK module while telemetry is off', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    const { startTelemetry, counter, withSpan } = await import('${INDEX}');
    const telemetry = await startTelemetry(process.env, { service: 'test' });
    counter('switchyard.edge.calls', { method: 'a.b', code: 'OK' }).add(1);
    withSpan('x', {}, undefined, () => 1);
    await telemetry.shutdown();
    console.log(JSON.stringify({ on: telemetry.traces || telemetry.metrics, sdk: loaded.filter((url) => /opentelemetry\\/(?!api\\/)/.test(url)), any: loaded.length }));`;
  for (const env of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' },
    { OTEL_TRACES_EXPORTER: 'none' },
  ]) {
    const { on, sdk, any } = JSON.parse(await run(script, env)) as { on: boolean; sdk: string[]; any: number };
    assert.ok(any > 5, 'the hook saw what was loaded');
    assert.deepEqual({ on, sdk }, { on: false, sdk: [] });
  }
});

test('exports a span of the continued trace and a metric to the collector', async () => {
  using collector = await openCollector();
  const script = `
    import { startTelemetry, counter, withSpan, startSpan } from '${INDEX}';
    const calls = counter('switchyard.edge.calls', { method: 'a.b', code: 'OK' });
    const telemetry = await startTelemetry(process.env, { service: 'sessions' });
    await withSpan('outer', { 'rpc.method': 'a.b' }, '${HEADER}', async (span) => {
      calls.add(2);
      console.log(span.traceparent);
      startSpan('inner').end(Object.assign(new Error('token=hunter2'), { code: 'UNAVAILABLE' }));
    });
    await telemetry.shutdown();`;
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const onward = (await run(script, env)).trim();
  assert.match(onward, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  assert.notEqual(onward, HEADER);

  const traces = collector.received.find(({ path }) => path === '/v1/traces')?.body ?? '';
  const { resourceSpans } = JSON.parse(traces) as {
    resourceSpans: {
      resource: unknown;
      scopeSpans: { spans: { name: string; traceId: string; spanId: string; parentSpanId: string }[] }[];
    }[];
  };
  const spans = resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
  const outer = spans.find(({ name }) => name === 'outer');
  const inner = spans.find(({ name }) => name === 'inner');
  assert.deepEqual([outer?.traceId, outer?.parentSpanId], [TRACE, '00f067aa0ba902b7']);
  assert.equal(outer?.spanId, onward.split('-')[2]);
  assert.deepEqual([inner?.traceId, inner?.parentSpanId], [TRACE, outer?.spanId]);
  assert.match(JSON.stringify(resourceSpans[0]?.resource), /"service\.name","value":\{"stringValue":"sessions"/);
  assert.match(traces, /UNAVAILABLE/);
  assert.ok(!traces.includes('hunter2') && !traces.includes('command_args'));

  const counted = collector.received.find(({ path }) => path === '/v1/metrics')?.body ?? '';
  assert.match(counted, /"name":"switchyard\.edge\.calls"/);
  assert.match(counted, /"attributes":\[\{"key":"method","value":\{"stringValue":"a\.b"\}\},.*"asDouble":2/);
});

test('exports events in their trace if the variable of the logs exporter is set, and none otherwise', async () => {
  using collector = await openCollector();
  const script = `
    import { startTelemetry, emitEvent, exportsEvents } from '${INDEX}';
    emitEvent('too.early', {});
    const telemetry = await startTelemetry(process.env, { service: 'sessions' });
    emitEvent('gen_ai.client.operation.exception', { 'exception.type': 'UNAVAILABLE' }, { traceparent: '${HEADER}', severity: 'warn' });
    console.log(exportsEvents());
    await telemetry.shutdown();
    emitEvent('too.late', {});`;
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_METRICS_EXPORTER: 'none' };
  const getBodies = (): string[] => collector.received.filter(({ path }) => path === '/v1/logs').map(({ body }) => body);
  assert.equal((await run(script, env)).trim(), 'false');
  assert.deepEqual(getBodies(), []);
  assert.equal((await run(script, { ...env, OTEL_LOGS_EXPORTER: 'otlp' })).trim(), 'true');
  const [body = '', ...others] = getBodies();
  assert.deepEqual(others, []);
  const { resourceLogs } = JSON.parse(body) as { resourceLogs: { scopeLogs: { logRecords: Record<string, unknown>[] }[] }[] };
  const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
  assert.deepEqual(
    records.map(({ eventName, traceId, spanId, severityNumber }) => [eventName, traceId, spanId, severityNumber]),
    [['gen_ai.client.operation.exception', TRACE, '00f067aa0ba902b7', 13]],
  );
});

test('samples new traces by the variable and continued traces by their flag', async () => {
  const script = `
    import { startTelemetry, continueTrace, withSpan } from '${INDEX}';
    const telemetry = await startTelemetry(process.env, { service: 'test' });
    const fresh = Array.from({ length: 400 }, () => continueTrace().sampled).filter(Boolean).length;
    const kept = withSpan('x', {}, '${HEADER.slice(0, -1)}0', (span) => span.traceparent.at(-1));
    console.log(JSON.stringify({ fresh, kept }));
    process.exit(0);`;
  const env = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
  const { fresh, kept } = JSON.parse(await run(script, env)) as { fresh: number; kept: string };
  assert.ok(fresh > 100 && fresh < 300, `${fresh} of 400`);
  assert.equal(kept, '0');
});

test('an unreachable collector delays the shutdown at most by the limit', async () => {
  const script = `
    import { startTelemetry, withSpan } from '${INDEX}';
    const telemetry = await startTelemetry(process.env, { service: 'test' });
    withSpan('x', {}, undefined, () => 1);
    const begun = performance.now();
    await telemetry.shutdown();
    console.log(Math.round(performance.now() - begun));
    process.exit(0);`;
  const waited = Number(await run(script, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_METRICS_EXPORTER: 'none' }));
  assert.ok(waited < 10_000, `${waited} ms`);
});

test('rejects an endpoint that is not a URL', async () => {
  for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) {
    for (const value of [':::', 'localhost:4318']) {
      await assert.rejects(startTelemetry({ [name]: value }, { service: 'sessions' }), new RegExp(`^Error: ${name} must be an http`));
    }
  }
});

test('rejects unsupported exporters with the remedy', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  await assert.rejects(
    startTelemetry({ OTEL_METRICS_EXPORTER: 'prometheus' }, { service: 'sessions' }),
    /for Prometheus set SWITCHYARD_METRICS_PORT/,
  );
  await assert.rejects(
    startTelemetry({ OTEL_LOGS_EXPORTER: 'console' }, { service: 'sessions' }),
    /OTEL_LOGS_EXPORTER must be otlp or none/,
  );
  await assert.rejects(
    startTelemetry({ ...env, OTEL_EXPORTER_OTLP_PROTOCOL: 'smoke' }, { service: 'sessions' }),
    /must be grpc, http\/protobuf or http\/json/,
  );
});
