import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { healthClient } from '@switchyard/testkit';
import { command } from '../e2e/embedded.ts';
import { checker, checkMetrics } from './check-metrics.ts';
import { BUILT, eventually, look, startCluster, startWatched, TOKEN, type Cluster } from './processes.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

describe('health and metrics of a cluster', { skip: NATS_OFF, timeout: 240_000 }, () => {
  const stack = new AsyncDisposableStack();
  let cluster: Cluster;
  before(async () => {
    cluster = stack.use(await startCluster({ SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: '1000000' }));
  });
  after(() => stack.disposeAsync());

  async function rpc(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const response = await fetch(`${cluster.url}/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as Record<string, unknown>;
  }

  const getMetrics = async (service: (typeof BUILT)[number]): Promise<string> =>
    (await look(cluster.services[service].metrics, '/metrics')).body;

  async function ready(): Promise<{ code: number; missing: string[] }> {
    const response = await fetch(`${cluster.url}/readyz`);
    const { dependencies } = (await response.json()) as { dependencies: Record<string, { ready: boolean }> };
    return { code: response.status, missing: Object.entries(dependencies).flatMap(([name, one]) => (one.ready ? [] : [name])) };
  }

  const sendRequest = (...words: string[]) => command({ data: cluster.data }, ...words, '--url', cluster.url, '--token', TOKEN);

  test(`each process reports its health over gRPC and serves valid metrics (${checker})`, async () => {
    await rpc('agent.execute', { message: 'hello' });
    await rpc('agents.list');
    await rpc('tokens.list');
    for (const service of BUILT) {
      const { health } = cluster.services[service];
      using client = await healthClient(`127.0.0.1:${health}`);
      const names = ['', service, 'bus', 'liveness', ...(service === 'gateway' ? ['gateway.tokens', 'gateway.sessions'] : ['store'])];
      for (const name of names) assert.equal(await client.check(name), 'SERVING', `${service}: ${name}`);
      const metrics = await getMetrics(service);
      assert.equal(await checkMetrics(metrics), '', service);
      assert.match(
        metrics,
        new RegExp(`^switchyard_service_info\\{service="${service}",replica="${service}-\\w+",version="[0-9.]+"\\} 1$`, 'm'),
      );
      assert.match(metrics, /^switchyard_ready\{dependency="all"\} 1$/m);
    }
    const sessions = await getMetrics('sessions');
    for (const line of [
      'switchyard_method_duration_seconds_count{service="sessions",method="agent.execute",code="OK"} 1',
      'switchyard_turn_duration_seconds_count{kind="durable",outcome="stop"} 1',
      'switchyard_turn_wait_seconds_count 1',
      'switchyard_turn_running{kind="durable"} 0',
      'gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="dev",gen_ai_request_model="echo"} 1',
      'switchyard_bus_connected{service="sessions"} 1',
    ])
      assert.ok(sessions.includes(`\n${line}\n`), `${line}\n${sessions}`);
    const edge = await getMetrics('gateway');
    assert.ok(edge.includes('\nswitchyard_edge_calls_total{method="agent.execute",code="OK"} 1\n'), edge);
    assert.match(
      edge,
      /^http_server_request_duration_seconds_count\{http_request_method="POST",http_route="\/rpc",http_response_status_code="200"\} 3$/m,
    );
  });

  test('input of clients creates no time series', async () => {
    await rpc('no.such_method');
    await fetch(`${cluster.url}/nowhere`, { method: 'PURGE' }).catch(() => undefined);
    await rpc('agent.execute', { message: 'hello', sessionKey: { userId: 'u', channelId: 'c', peerId: 'p' } });
    const series = async (): Promise<string[]> =>
      (await Promise.all([getMetrics('gateway'), getMetrics('sessions')]))
        .join('')
        .split('\n')
        // The event loop is measured from the first scrape on and reported from the second.
        .filter((line) => !line.includes('nodejs_eventloop'))
        .map((line) => line.replace(/ \S+$/, ''));
    const before = await series();
    for (let n = 0; n < 40; n++) {
      await rpc(`made.up_${n}`);
      await fetch(`${cluster.url}/made/up/${n}`);
      await rpc('agent.execute', { message: `hello ${n}`, sessionKey: { userId: `u${n}`, channelId: `c${n}`, peerId: `p${n}` } });
    }
    assert.deepEqual(await series(), before);
    assert.match(await getMetrics('gateway'), /^switchyard_edge_calls_total\{method="other",code="UNIMPLEMENTED"\} 41$/m);
  });

  test('status shows the health of each replica, and services shows its requests', async () => {
    const status = await sendRequest('status');
    assert.equal(status.code, 0, status.stdout + status.stderr);
    for (const service of BUILT) assert.match(status.stdout, new RegExp(`^service +${service} +${service}-\\w+ .* ready$`, 'm'));
    const { code, stdout } = await sendRequest('services', 'sessions');
    assert.equal(code, 0);
    assert.match(stdout, /^ {2}agent\.execute +\d+ requests {2}0 errors {2}[0-9.]+ ms$/m);
  });

  test('readyz, status and doctor report the loss of a required service, and its return', async () => {
    await cluster.services.sessions.process.end('SIGKILL');
    await eventually(async () => (await ready()).code === 503);
    assert.deepEqual((await ready()).missing, ['gateway.sessions']);
    const [status, doctor, services] = [await sendRequest('status'), await sendRequest('doctor'), await sendRequest('services')];
    assert.deepEqual([status.code, doctor.code, services.code], [1, 1, 0]);
    assert.match(status.stdout, /^service +sessions +down: no replica answers$/m);
    assert.match(services.stdout, /^sessions {2}down: no replica answers$/m);
    cluster.services.sessions = await startWatched(stack, 'sessions', { SWITCHYARD_BUS: cluster.nats.url, SWITCHYARD_DATA: cluster.data });
    await eventually(async () => (await ready()).code === 200);
  });

  test('a process reports that it drains before it ends', async () => {
    using client = await healthClient(`127.0.0.1:${cluster.services.sessions.health}`);
    using watch = client.watch('');
    assert.equal(await watch.next(), 'SERVING');
    const turn = rpc('agent.execute', { message: 'one two three four five six seven eight nine ten', agentId: 'default' });
    const ended = cluster.services.sessions.process.end('SIGTERM');
    assert.equal(await watch.next(), 'NOT_SERVING');
    assert.deepEqual(await ended, { code: 0, signal: null });
    assert.ok((await turn)['result'] ?? (await turn)['error']);
  });

  test('each process reports that the bus is unavailable', async () => {
    using client = await healthClient(`127.0.0.1:${cluster.services.registry.health}`);
    await cluster.nats.kill();
    await eventually(async () => (await client.check('bus')) === 'NOT_SERVING');
    assert.deepEqual(
      [await client.check(''), await client.check('liveness'), await client.check('registry')],
      ['NOT_SERVING', 'SERVING', 'SERVING'],
    );
    assert.match(await getMetrics('registry'), /^switchyard_bus_connected\{service="registry"\} 0$/m);
    assert.equal((await look(cluster.services.registry.metrics, '/readyz')).status, 503);
    await cluster.nats.restart();
    await eventually(async () => (await client.check('')) === 'SERVING');
  });
});
