import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { startTelemetry } from '@switchyard/telemetry';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
  status: { code?: number };
}

/** A minimal OpenTelemetry collector. */
async function openCollector(): Promise<{ url: string; spans: Span[] } & Disposable> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { resourceSpans = [] } = JSON.parse(Buffer.concat(parts).toString()) as {
        resourceSpans?: { scopeSpans: { spans: Span[] }[] }[];
      };
      for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

// One test, because telemetry is global to the process.
test('a call is one trace from client to service, and each span names the request id', async () => {
  using collector = await openCollector();
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_METRICS_EXPORTER: 'none' };
  Object.assign(process.env, settings); // the SDK reads the environment
  const telemetry = await startTelemetry(settings, { service: 'gateway' });
  {
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': () => ({ messages: [] }),
        'session.status': () => Promise.reject(new Error('no luck')),
      },
    });
    const headers = { authorization: `Bearer ${SECRETS.all}`, 'x-request-id': 'req-1', traceparent: `00-${TRACE}-${PARENT}-01` };
    const call = (method: string) => gateway.post('/rpc', JSON.stringify({ jsonrpc: '2.0', method, id: 1 }), { headers });
    assert.equal((await call('session.history')).status, 200);
    assert.equal((await call('session.status')).status, 200);
    assert.equal((await fetch(`${gateway.url}/api/chat/history`, { headers })).status, 200);
    const socket = await gateway.connect();
    await socket.request({ jsonrpc: '2.0', method: 'session.history', id: 1 });
  }
  await telemetry.shutdown();

  const find = (name: string): Span[] => collector.spans.filter((span) => span.name === name);
  const [edge] = find('edge session.history');
  assert.ok(edge, JSON.stringify(collector.spans.map(({ name }) => name)));
  assert.deepEqual([edge.traceId, edge.parentSpanId], [TRACE, PARENT]);
  const attributes = new Map(edge.attributes.map(({ key, value }) => [key, value.stringValue]));
  assert.deepEqual(
    ['rpc.system', 'rpc.service', 'rpc.method', 'switchyard.request_id'].map((key) => attributes.get(key)),
    ['jsonrpc', 'sessions', 'session.history', 'req-1'],
  );
  assert.ok(find('session.history').some(({ traceId, parentSpanId }) => traceId === TRACE && parentSpanId === edge.spanId));
  assert.equal(find('edge session.status')[0]?.status.code, 2);

  const [route] = find('GET /api/chat/history');
  assert.deepEqual([route?.traceId, route?.parentSpanId], [TRACE, PARENT]);
  assert.ok(find('session.history').some(({ parentSpanId }) => parentSpanId === route?.spanId));

  const own = find('edge session.history').find(({ traceId }) => traceId !== TRACE);
  assert.ok(own && !own.parentSpanId, 'a call without a trace starts one');
  assert.ok(find('session.history').some(({ traceId, parentSpanId }) => traceId === own.traceId && parentSpanId === own.spanId));
});
