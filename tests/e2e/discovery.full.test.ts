import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isBuilt, listBuiltServices, SERVICES, type ServiceName, type ServicePresence } from '@switchyard/contracts';
import { openNats, startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';

const root = fileURLToPath(new URL('../../', import.meta.url));
const TOKEN = 'operator-chosen-'.padEnd(40, 'x');
const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

/** Time for all processes to start on a busy machine. */
const PATIENCE_MS = 60_000;

/** One process per service. */
const BUILT = listBuiltServices();

interface Cluster extends AsyncDisposable {
  processes: ReadonlyMap<ServiceName, StartedProcess>;
  /** The output of `switchyard status`. */
  status(): Promise<{ services: Map<string, ServicePresence>; ready: boolean }>;
  doctor(): Promise<string>;
}

async function startCluster(): Promise<Cluster> {
  await using starting = new AsyncDisposableStack();
  const server = await openNats();
  starting.defer(() => server.stop());
  const data = starting.use(await tempDir()).path;
  const env = {
    HOME: data,
    SWITCHYARD_DATA: data,
    SWITCHYARD_CONFIG: ':',
    SWITCHYARD_PORT: '0',
    SWITCHYARD_BUS: server.url,
    SWITCHYARD_TOKEN: TOKEN,
  };
  const processes = new Map<ServiceName, StartedProcess>();
  const starts = BUILT.map(async (service) => {
    const main = `${root}services/${service}/src/main.ts`;
    processes.set(
      service,
      starting.use(await startProcess([process.execPath, main], { env, ready: /"msg":"serving"/, timeoutMs: PATIENCE_MS })),
    );
  });
  // All are stopped, also if one fails.
  for (const result of await Promise.allSettled(starts)) if (result.status === 'rejected') throw result.reason;
  const [, url = ''] = /"url":"(http[^"]+)"/.exec(processes.get('gateway')?.output() ?? '') ?? [];
  const command = async (...words: string[]): Promise<string> => {
    const own = { PATH: process.env['PATH'], HOME: data, SWITCHYARD_URL: url, SWITCHYARD_TOKEN: TOKEN, NO_COLOR: '1' };
    const child = spawn(`${root}bin/switchyard`, words, { cwd: data, env: own, stdio: ['ignore', 'pipe', 'ignore'] });
    const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return stdout;
  };
  const started = starting.move();
  return {
    processes,
    async status() {
      const { services, ready } = JSON.parse(await command('status', '-o', 'json')) as { services: ServicePresence[]; ready: boolean };
      return { services: new Map(services.map((one) => [one.service, one])), ready };
    },
    doctor: () => command('doctor'),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test('status lists each process, and reports a killed one at once', { skip: NATS_OFF, timeout: PATIENCE_MS * 2 }, async () => {
  await using cluster = await startCluster();
  const before = await cluster.status();
  assert.equal(before.ready, true);
  assert.deepEqual([...before.services.keys()], [...SERVICES]);
  for (const service of BUILT) {
    const { state, replicas } = before.services.get(service) ?? assert.fail(service);
    assert.deepEqual([state, ...replicas.map(({ pid }) => pid)], ['up', cluster.processes.get(service)?.pid], service);
  }
  for (const service of SERVICES.filter((name) => !isBuilt(name))) assert.equal(before.services.get(service)?.state, 'unbuilt', service);

  for (const service of ['sessions', 'registry', 'secrets'] as const) {
    await cluster.processes.get(service)?.end('SIGKILL');
    const { services } = await cluster.status(); // only an admin sees it: the gateway still knows its tokens
    assert.deepEqual(services.get(service), { service, state: 'down', replicas: [] });
    assert.equal(services.get('gateway')?.state, 'up');
  }
  assert.match(await cluster.doctor(), /^✗ services +registry is down: no replica answers$/m);
});
