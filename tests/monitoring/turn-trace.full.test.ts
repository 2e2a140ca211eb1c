import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startCollector, startUpstream, type Collector, type ReceivedEvent, type ReceivedSpan, type Upstream } from '@switchyard/testkit';
import { startCluster, TOKEN, type Cluster } from './processes.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const PARENT = '00f067aa0ba902b7';
/** Severity numbers of OpenTelemetry. */
const INFO = 9;
const WARN = 13;

describe('separate processes over NATS, with a collector', { skip: NATS_OFF, timeout: 110_000 }, () => {
  const stack = new AsyncDisposableStack();
  let collector: Collector;
  let upstream: Upstream;
  let cluster: Cluster;

  before(async () => {
    collector = stack.use(await startCollector());
    upstream = stack.use(await startUpstream());
    cluster = stack.use(
      await startCluster({ ...collector.env, OTEL_LOGS_EXPORTER: 'otlp', OPENAI_BASE_URL: upstream.url, OPENAI_API_KEY: 'sk-none' }),
    );
  });
  after(() => stack.disposeAsync());

  function post(path: string, body: object, headers: Record<string, string>): Promise<Response> {
    return fetch(cluster.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  /** The names of the spans from the last one up to the root, and the parent of the root. */
  function climb(traceId: string, last: string): { way: string[]; parent: string } {
    const all = collector.spans.filter((span) => span.traceId === traceId);
    const way: string[] = [];
    let span = all.find(({ name }) => name.startsWith(last));
    let parent = '';
    while (span) {
      way.push(`${span.service}: ${span.name}`);
      parent = span.parentSpanId;
      span = all.find(({ spanId }) => spanId === parent);
    }
    return { way, parent };
  }

  /** Processes export spans independently, so the trace may be complete only some time after its first span. */
  async function wayUp(traceId: string, last: string): Promise<string[]> {
    await collector.until(() => climb(traceId, last).parent === PARENT);
    return climb(traceId, last).way;
  }

  const ended = (traceId: string, name: string): boolean =>
    collector.spans.some((span: ReceivedSpan) => span.traceId === traceId && span.name === name && span.parentSpanId === PARENT);

  test('a durable turn is one trace from the client through gateway, bus and service to the provider', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const call = { jsonrpc: '2.0', id: 1, method: 'agent.execute', params: { message: 'hello' } };
    const answer = await post('/rpc', call, { traceparent: `00-${trace}-${PARENT}-01`, 'x-request-id': 'req-traced' });
    assert.match(await answer.text(), /Hello from upstream/);
    await collector.until(() => ended(trace, 'edge agent.execute'));
    assert.deepEqual(
      (await wayUp(trace, 'chat ')).map((step) => step.replace(/chat .*/, 'chat')),
      ['sessions: chat', 'sessions: invoke_agent default', 'sessions: agent.execute', 'gateway: edge agent.execute'],
    );
    const chat = collector.spans.find((span) => span.traceId === trace && span.name.startsWith('chat '));
    assert.ok(chat?.isClient);
    const { attributes } = chat;
    assert.equal(attributes['gen_ai.operation.name'], 'chat');
    assert.equal(attributes['gen_ai.provider.name'], 'openai');
    assert.equal(attributes['gen_ai.request.stream'], true);
    assert.deepEqual(attributes['gen_ai.response.finish_reasons'], ['stop']);
    for (const name of ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'gen_ai.response.time_to_first_chunk'])
      assert.ok(Number(attributes[name]) > 0, name);
    assert.equal(upstream.requests.at(-1)?.headers['traceparent'], `00-${trace}-${chat.spanId}-01`, 'the provider can go on with it');
    await collector.until(() => collector.events.some(({ traceId }) => traceId === trace));
    const events = collector.events.filter(({ traceId }) => traceId === trace);
    assert.deepEqual(
      events.map(({ service, name, spanId, severity }) => [service, name, spanId, severity]),
      [['sessions', 'gen_ai.client.inference.operation.details', chat.spanId, INFO]],
    );
    assert.deepEqual(events[0]?.attributes, attributes, 'the event repeats the span and contains no text');
  });

  test('a streamed /v1 completion without storage is one trace', async () => {
    const trace = '5bf92f3577b34da6a3ce929d0e0e4737';
    const body = { model: 'default', stream: true, messages: [{ role: 'user', content: 'hello' }] };
    const answer = await post('/v1/chat/completions', body, { traceparent: `00-${trace}-${PARENT}-01` });
    assert.match(await answer.text(), /\[DONE\]/);
    await collector.until(() => ended(trace, 'POST /v1/chat/completions'));
    assert.deepEqual(
      (await wayUp(trace, 'chat ')).map((step) => step.replace(/chat .*/, 'chat')),
      ['sessions: chat', 'sessions: invoke_agent default', 'sessions: turns.run', 'gateway: POST /v1/chat/completions'],
    );
  });

  test('log records of a failed turn have trace, request and turn ids', async () => {
    const trace = '6bf92f3577b34da6a3ce929d0e0e4738';
    upstream.respond({ kind: 'status', status: 400, message: 'no luck' });
    const call = { jsonrpc: '2.0', id: 1, method: 'agent.execute', params: { message: 'hello' } };
    const answer = await post('/rpc', call, { traceparent: `00-${trace}-${PARENT}-01`, 'x-request-id': 'req-failed' });
    const { error } = (await answer.json()) as { error: { data: { requestId: string; turnId: string } } };
    assert.equal(error.data.requestId, 'req-failed');
    const { sessions, gateway } = cluster.services;
    const getLine = async (from: typeof sessions, msg: string): Promise<Record<string, unknown>> => {
      const [line] = await from.process.line(new RegExp(`^\\{.*"requestId":"req-failed".*"msg":"${msg}".*\\}$`, 'm'));
      return JSON.parse(line) as Record<string, unknown>;
    };
    for (const line of [
      await getLine(gateway, 'request failed'),
      await getLine(sessions, 'call failed'),
      await getLine(sessions, 'turn failed'),
    ])
      assert.deepEqual([line['traceId'], line['turnId']], [trace, error.data.turnId], JSON.stringify(line));
    await collector.until(() => ended(trace, 'edge agent.execute'));
    const chat = collector.spans.find((span) => span.traceId === trace && span.name.startsWith('chat '));
    assert.equal(chat?.failed, true);
    const isException = ({ traceId, name }: ReceivedEvent): boolean => traceId === trace && name === 'gen_ai.client.operation.exception';
    await collector.until(() => collector.events.some(isException));
    const exception = collector.events.find(isException);
    assert.deepEqual([exception?.spanId, exception?.severity], [chat.spanId, WARN]);
    assert.equal(exception?.attributes['exception.type'], 'PROVIDER_REJECTED');
    assert.equal(exception?.attributes['gen_ai.provider.name'], 'openai');
  });

  test('exports metrics to the same collector under OpenTelemetry names', async () => {
    await collector.until(() => (collector.metric('sessions', 'gen_ai.client.operation.duration')?.points.length ?? 0) >= 2);
    const calls = collector.metric('sessions', 'gen_ai.client.operation.duration');
    assert.deepEqual([calls?.kind, calls?.unit], ['histogram', 's']);
    const byError = new Map(calls?.points.map(({ attributes, value }) => [attributes['error.type'], value]));
    assert.deepEqual([byError.get(undefined), byError.get('PROVIDER_REJECTED')], [2, 1]);
    const tokens = collector
      .metric('sessions', 'gen_ai.client.token.usage')
      ?.points.map(({ attributes }) => attributes['gen_ai.token.type']);
    assert.deepEqual(tokens?.toSorted(), ['input', 'output']);
    await collector.until(() => (collector.metric('gateway', 'switchyard.edge.calls')?.points.length ?? 0) >= 2);
    const edge = collector.metric('gateway', 'switchyard.edge.calls');
    assert.equal(edge?.kind, 'sum');
    assert.equal(edge.points.find(({ attributes }) => attributes['code'] === 'OK')?.attributes['method'], 'agent.execute');
  });

  test('a tool call is a span of the turn, with the call of its service below', async () => {
    const trace = '7bf92f3577b34da6a3ce929d0e0e4739';
    upstream.respond({ kind: 'tools', calls: [{ name: 'session_status', arguments: {} }] }, { kind: 'text', text: 'Two messages.' });
    const call = { jsonrpc: '2.0', id: 1, method: 'agent.execute', params: { message: 'how long is this session?' } };
    const answer = await post('/rpc', call, { traceparent: `00-${trace}-${PARENT}-01` });
    assert.match(await answer.text(), /Two messages/);
    await collector.until(() => ended(trace, 'edge agent.execute'));
    const way = await wayUp(trace, 'session.status');
    assert.deepEqual(way.slice(0, 3), [
      'sessions: session.status',
      'sessions: execute_tool session_status',
      'sessions: invoke_agent default',
    ]);
    const tool = collector.spans.find((span) => span.traceId === trace && span.name === 'execute_tool session_status');
    assert.equal(tool?.attributes['gen_ai.tool.name'], 'session_status');
  });
});
