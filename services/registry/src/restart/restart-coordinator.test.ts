import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { gateway as edge, RESTART_BUCKET, RESTART_KEY, RollingRestart } from '@switchyard/contracts';
import { defineService, reportRevisions } from '@switchyard/service-kit';
import { principal, startNatsServer, tempDir, testService, type TestService } from '@switchyard/testkit';
import { registry } from '../service.ts';

const ops = principal({ client: 'ops', scopes: ['*'] });
/** A stand-in for a gateway process. */
const gateway = defineService({ contract: edge, version: '1.0.0', settings: ['gateway'], setup: () => ({}) });
const TIMEOUT = { timeout: 60_000 };

/** A process that stops when asked and starts again. */
async function obedient(app: TestService, service: string, received: string[]): Promise<AsyncDisposable> {
  const name = `${service}.${service}-1`;
  let run = 0;
  const start = async () => {
    const report = await reportRevisions(app.host.bus, service, `${service}-1`);
    const process = `${service}-${++run}`;
    report.runsIn({ id: process, ready: () => true });
    return { process, report };
  };
  let now = await start();
  const watch = await (
    await app.host.bus.kv(RESTART_BUCKET)
  ).watch(({ value }) => {
    const { turn } = value === undefined ? {} : RollingRestart.parse(JSON.parse(Buffer.from(value).toString()));
    if (turn?.process !== now.process) return;
    received.push(name);
    void now.report[Symbol.asyncDispose]().then(async () => (now = await start()));
  });
  return {
    async [Symbol.asyncDispose]() {
      watch.stop();
      await now.report[Symbol.asyncDispose]();
    },
  };
}

async function waitUntil<T>(look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await sleep(10);
  }
}

const progress = async (app: TestService) => (await app.bus.call('gateway.status', {})).restart;

/** A replica of the registry with a supervisor that restarts it. */
async function keptAlive(stack: AsyncDisposableStack, env: Record<string, string>, data: string) {
  let app = await testService(registry, { as: ops, data, env });
  let runs = 1;
  let over = false;
  const ended = Promise.withResolvers<void>();
  const staying = (async () => {
    while (!over) {
      await Promise.race([app.host.restartWished, ended.promise]);
      await app[Symbol.asyncDispose]();
      if (over) return;
      app = await testService(registry, { as: ops, data, env });
      runs++;
    }
  })();
  stack.defer(async () => {
    over = true;
    ended.resolve();
    await staying;
  });
  return { now: () => app, runs: () => runs };
}

test(
  'a second gateway.restart joins the first, each process restarts once, and the registry replicas restart as well',
  TIMEOUT,
  async () => {
    await using stack = new AsyncDisposableStack();
    const server = await startNatsServer();
    stack.defer(() => server.stop());
    const { path } = stack.use(await tempDir());
    const env = { SWITCHYARD_BUS: server.url };
    const [one, two] = [await keptAlive(stack, env, path), await keptAlive(stack, env, path)];
    const watching = stack.use(await testService(gateway, { as: ops, env }));
    const received: string[] = [];
    stack.use(await obedient(watching, 'memory', received));
    stack.use(await obedient(watching, 'sessions', received));
    const requests = await Promise.all([one, two].map(async (app) => app.now().bus.call('gateway.restart', {})));
    const warning = 'Only one replica of gateway, memory, sessions is running: calls to it fail with UNAVAILABLE until it has restarted.';
    assert.deepEqual(requests, [
      { restarting: true, warning },
      { restarting: true, warning },
    ]);
    const { id } = await stored(watching);
    await watching.host.restartWished;
    assert.deepEqual([received, one.runs(), two.runs()], [['memory.memory-1', 'sessions.sessions-1'], 2, 2], 'all but the gateway');
    const now = await stored(watching);
    assert.deepEqual([now.id, now.state, now.restarted.length, now.waiting], [id, 'running', 4, []]);
  },
);

test('only the current process is asked to stop', TIMEOUT, async () => {
  await using app = await testService(registry, { as: ops });
  let wished = false;
  void app.host.restartWished.then(() => (wished = true));
  const bucket = await app.host.bus.kv(RESTART_BUCKET);
  const restart = { id: 'r', by: 'ops', since: 0, movedAt: 0, ready: {}, restarted: [], waiting: [] };
  const turn = { process: app.host.process, replicas: [], needs: {} };
  const write = (value: object): Promise<number> => bucket.put(RESTART_KEY, Buffer.from(JSON.stringify({ ...restart, ...value })));
  await write({ state: 'stopped', turn });
  await write({ state: 'done', turn: { ...turn, process: 'another' } });
  await waitUntil(async () => (await progress(app))?.state === 'done');
  assert.equal(wished, false);
  await write({ state: 'running', turn });
  await app.host.restartWished;
});

test('gateway.restart rejects other tenants', TIMEOUT, async () => {
  await using app = await testService(registry, { as: ops });
  const other = app.bus.as(principal({ tenant: 'other', scopes: ['*'] }));
  await assert.rejects(other.call('gateway.restart', {}), { code: 'PERMISSION_DENIED' });
  assert.equal(await progress(app), undefined);
});

test('gateway.restart of a single process returns a warning', TIMEOUT, async () => {
  await using app = await testService(registry, { as: ops });
  assert.match((await app.bus.call('gateway.restart', {})).warning ?? '', /^All services run in one process/);
  await app.host.restartWished;
});

async function stored(app: TestService): Promise<RollingRestart> {
  const entry = await (await app.host.bus.kv(RESTART_BUCKET)).get(RESTART_KEY);
  return RollingRestart.parse(JSON.parse(Buffer.from(entry?.value ?? []).toString()));
}
