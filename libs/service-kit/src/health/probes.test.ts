import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { counter, silentLogger } from '@switchyard/telemetry';
import { healthClient, startProcess, tempDir } from '@switchyard/testkit';
import { readEnvironment } from '../host/environment.ts';
import { createHealthRegistry, type HealthRegistry } from './health-registry.ts';
import { openProbes, type Probes } from './probes.ts';

const [SERVING, NOT_SERVING] = ['SERVING', 'NOT_SERVING'];
const NOT_FOUND = 5;

async function open(health: HealthRegistry, env: Record<string, string>, metricsPort?: number): Promise<Probes> {
  const { probes } = await readEnvironment(env);
  return openProbes({ probes, metricsPort, health, log: silentLogger() });
}

async function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; type: string; body: string }> {
  const sent = request({ host: '127.0.0.1', port, path, headers, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body: await text(response) };
}

test('opens only configured probe servers, on loopback', async () => {
  await using none = await open(createHealthRegistry(), {});
  assert.deepEqual(none.ports, {});
  await using off = await open(createHealthRegistry(), { SWITCHYARD_METRICS_PORT: 'off' }, 9464);
  assert.deepEqual(off.ports, {});
  const { probes } = await readEnvironment({});
  assert.equal(probes.host, '127.0.0.1');
});

test('serves metrics for Prometheus with the readiness of each dependency', async () => {
  const health = createHealthRegistry();
  await using probes = await open(health, { SWITCHYARD_METRICS_PORT: '0' });
  const port = probes.ports['metrics'] ?? 0;
  counter('switchyard.edge.calls', { method: 'system.ping', code: 'OK' }).add();
  health.set('store', false, 'connection refused');
  const { status, type, body } = await get(port, '/metrics');
  assert.deepEqual([status, type], [200, 'text/plain; version=0.0.4; charset=utf-8']);
  assert.match(body, /^switchyard_edge_calls_total\{method="system\.ping",code="OK"\} 1$/m);
  assert.match(body, /^switchyard_ready\{dependency="store"\} 0$/m);
  assert.match(body, /^switchyard_ready\{dependency="all"\} 0$/m);
  for (const name of ['process_cpu_time_seconds_total', 'process_memory_usage_bytes'])
    assert.match(body, new RegExp(`^${name}(\\{.*\\})? [0-9.e-]+$`, 'm'));
  assert.deepEqual(
    [(await get(port, '/readyz')).status, (await get(port, '/livez')).status, (await get(port, '/')).status],
    [503, 200, 404],
  );
  health.set('store', true);
  assert.equal((await get(port, '/readyz')).status, 200);
});

test('measures the event loop from the first read', async () => {
  await using probes = await open(createHealthRegistry(), { SWITCHYARD_METRICS_PORT: '0' });
  const seen = async (): Promise<boolean> =>
    /^nodejs_eventloop_delay_p99_seconds [0-9.e-]+$/m.test((await get(probes.ports['metrics'] ?? 0, '/metrics')).body);
  assert.equal(await seen(), false, 'nobody has looked before: it was not woken for that');
  while (!(await seen())) await new Promise((resolve) => setTimeout(resolve, 50));
  const { body } = await get(probes.ports['metrics'] ?? 0, '/metrics');
  for (const name of ['delay_p50_seconds', 'delay_max_seconds', 'utilization_ratio'])
    assert.match(body, new RegExp(`^nodejs_eventloop_${name} [0-9.e-]+$`, 'm'));
});

test('rejects requests with a foreign host name on loopback', async () => {
  await using probes = await open(createHealthRegistry(), { SWITCHYARD_METRICS_PORT: '0' });
  const port = probes.ports['metrics'] ?? 0;
  const status = async (host: string): Promise<number> => (await get(port, '/metrics', { host })).status;
  assert.deepEqual([await status('evil.example'), await status(`rebound.example:${port}`)], [403, 403]);
  assert.deepEqual([await status(`localhost:${port}`), await status(`127.0.0.1:${port}`), await status('[::1]')], [200, 200, 200]);
});

test('limits the number of connections', async () => {
  await using probes = await open(createHealthRegistry(), { SWITCHYARD_METRICS_PORT: '0', SWITCHYARD_HEALTH_PORT: '0' });
  for (const port of Object.values(probes.ports)) {
    const sockets: Socket[] = [];
    let refused = 0;
    for (let n = 0; n < 40; n++) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      sockets.push(socket);
      socket.once('close', () => refused++);
      await once(socket, 'connect');
    }
    while (refused < 8) await once(sockets.at(-1) as Socket, 'close').catch(() => undefined);
    assert.equal(refused, 8);
    for (const socket of sockets) socket.destroy();
  }
});

test('rejects a configured port in use, and selects a free port for the default', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  for (const variable of ['SWITCHYARD_METRICS_PORT', 'SWITCHYARD_HEALTH_PORT'])
    await assert.rejects(open(createHealthRegistry(), { [variable]: String(port) }), {
      name: 'StartError',
      message: `${variable}: port ${port} on 127.0.0.1 is in use; 0 selects a free one.`,
    });
  await using probes = await open(createHealthRegistry(), {}, port);
  assert.notEqual(probes.ports['metrics'], port);
  taken.close();
  await assert.rejects(readEnvironment({ SWITCHYARD_METRICS_PORT: '99999' }), /SWITCHYARD_METRICS_PORT/);
  await assert.rejects(
    readEnvironment({ SWITCHYARD_HEALTH_PORT: 'yes' }),
    /SWITCHYARD_HEALTH_PORT must be a port, 0 for a free one, or off\./,
  );
});

test('gRPC health reports the process, each dependency and draining', async () => {
  const health = createHealthRegistry();
  let connected = false;
  health.probe('bus', () => (connected ? undefined : 'not connected'));
  health.set('store', true);
  await using probes = await open(health, { SWITCHYARD_HEALTH_PORT: '0' });
  using client = await healthClient(`127.0.0.1:${probes.ports['health']}`);
  assert.deepEqual([await client.check(''), await client.check('bus'), await client.check('store')], [NOT_SERVING, NOT_SERVING, SERVING]);
  connected = true;
  assert.deepEqual([await client.check(''), await client.check('bus')], [SERVING, SERVING]);
  await assert.rejects(client.check('toString'), { code: NOT_FOUND });
  health.drain();
  assert.deepEqual([await client.check(''), await client.check('store')], [NOT_SERVING, NOT_SERVING]);
  assert.equal(await client.check('liveness'), SERVING, 'one that drains is not to be killed');
});

test('gRPC health watch sends the current status and each change once', async () => {
  const health = createHealthRegistry();
  let connected = true;
  health.probe('bus', () => (connected ? undefined : 'not connected'));
  await using probes = await open(health, { SWITCHYARD_HEALTH_PORT: '0' });
  using client = await healthClient(`127.0.0.1:${probes.ports['health']}`);
  using all = client.watch('');
  using later = client.watch('sessions');
  assert.deepEqual([await all.next(), await later.next()], [SERVING, 'SERVICE_UNKNOWN']);
  health.set('sessions', false, 'starting');
  assert.deepEqual([await all.next(), await later.next()], [NOT_SERVING, NOT_SERVING]);
  health.set('sessions', true);
  assert.deepEqual([await all.next(), await later.next()], [SERVING, SERVING]);
  connected = false; // found by polling
  assert.equal(await all.next(), NOT_SERVING);
  connected = true;
  assert.equal(await all.next(), SERVING);
  health.drain();
  assert.deepEqual([await all.next(), await later.next()], [NOT_SERVING, NOT_SERVING]);
});

test('loads gRPC only if its port is configured', async () => {
  const host = pathToFileURL(`${import.meta.dirname}/../host/host.ts`).href;
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    const { openHost } = await import('${host}');
    const { silentLogger } = await import('@switchyard/telemetry');
    const host = await openHost({ env: process.env, log: silentLogger() });
    console.log('grpc ' + loaded.some((url) => url.includes('/@grpc/')));
    await host[Symbol.asyncDispose]();`;
  for (const [env, expected] of [
    [{ SWITCHYARD_METRICS_PORT: '0' }, 'false'],
    [{ SWITCHYARD_HEALTH_PORT: '0' }, 'true'],
  ] as const) {
    await using data = await tempDir();
    const options = { env: { ...env, SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':' }, cwd: import.meta.dirname, ready: /grpc (\w+)/ };
    await using child = await startProcess([process.execPath, '--input-type=module', '--eval', script], options);
    assert.equal(child.ready[1], expected);
    assert.deepEqual(await child.exited, { code: 0, signal: null });
  }
});
