import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectBus, type Bucket, type Bus } from '@switchyard/bus';
import { REPLICAS_BUCKET } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { claimStore } from './store-claim.ts';
import { createHealthRegistry, type HealthRegistry } from '../health/health-registry.ts';
import { reportRevisions, type ReplicaReport } from '../control-state/replica-reports.ts';

interface Replica {
  report: ReplicaReport;
  health: HealthRegistry;
  claim(identity: string, signal?: AbortSignal): Promise<Disposable>;
}

async function openBus(t: TestContext): Promise<Bus> {
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  return bus;
}

async function replica(t: TestContext, bus: Bus, name: string): Promise<Replica> {
  const log = silentLogger();
  const report = await reportRevisions(bus, 'sessions', name, log);
  t.after(() => report[Symbol.asyncDispose]());
  const health = createHealthRegistry();
  return {
    report,
    health,
    async claim(identity, signal) {
      const claim = await claimStore(identity, { bus, service: 'sessions', report, health, log, signal });
      t.after(() => claim[Symbol.dispose]());
      return claim;
    },
  };
}

/** Writes the report of a dead or remote replica. */
function writeReport(bucket: Bucket, name: string, store: { identity: string; held: boolean }): Promise<number> {
  return bucket.put(`sessions.${name}`, Buffer.from(JSON.stringify({ revisions: {}, store })));
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const REFUSED = { name: 'StartError', message: /^sessions already runs on this bus as a with another database\..*SWITCHYARD_STORE/ };

test('admits replicas with the same database, and another database after all replicas have left', async (t) => {
  const bus = await openBus(t);
  const [a, b, c] = [await replica(t, bus, 'a'), await replica(t, bus, 'b'), await replica(t, bus, 'c')];
  await a.claim('one');
  await b.claim('one');
  await a.report[Symbol.asyncDispose]();
  await b.report[Symbol.asyncDispose]();
  await c.claim('two');
});

test('refuses another database at once when a live replica answers the claim', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout', 'Date'] });
  const bus = await openBus(t);
  const [a, b] = [await replica(t, bus, 'a'), await replica(t, bus, 'b')];
  await a.claim('one');
  await assert.rejects(b.claim('two'), REFUSED);
  assert.equal(a.health.readiness().ready, true);
});

test('waits until the report of a dead replica expires', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const bus = await openBus(t);
  await writeReport(await bus.kv(REPLICAS_BUCKET), 'dead', { identity: 'one', held: true });
  const b = await replica(t, bus, 'b');
  let admitted = false;
  const claiming = b.claim('two').then(() => (admitted = true));
  await turn();
  t.mock.timers.tick(44_999);
  await turn();
  assert.equal(admitted, false);
  const { ready, dependencies } = b.health.readiness();
  assert.deepEqual(
    [ready, dependencies['store']?.reason],
    [false, 'waits up to 45 s for a heartbeat of sessions.dead, which use another database'],
  );
  t.mock.timers.tick(1);
  await claiming;
  assert.equal(b.health.readiness().ready, true);
});

test('admits exactly one of many replicas that claim different databases at once', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const bus = await openBus(t);
  const replicas = await Promise.all(['a', 'b', 'c', 'd'].map((name) => replica(t, bus, name)));
  const claims = replicas.map(({ claim, report }, at) =>
    claim(`db-${at}`).then(
      () => true,
      async () => {
        await report[Symbol.asyncDispose]();
        return false;
      },
    ),
  );
  await turn();
  t.mock.timers.tick(15_000);
  assert.equal((await Promise.all(claims)).filter(Boolean).length, 1);
});

test('reports not ready while a resumed replica uses another database', async (t) => {
  const bus = await openBus(t);
  const a = await replica(t, bus, 'a');
  await a.claim('one');
  const bucket = await bus.kv(REPLICAS_BUCKET);
  await writeReport(bucket, 'asking', { identity: 'two', held: false });
  await turn();
  assert.equal(a.health.readiness().ready, true, 'who only asks is no rival');
  await writeReport(bucket, 'awake', { identity: 'two', held: true });
  await turn();
  assert.match(a.health.readiness().dependencies['store']?.reason ?? '', /sessions\.awake/);
  await bucket.remove('sessions.awake');
  await turn();
  assert.equal(a.health.readiness().ready, true);
});

test('aborts the wait when the process ends', async (t) => {
  const bus = await openBus(t);
  await writeReport(await bus.kv(REPLICAS_BUCKET), 'dead', { identity: 'one', held: true });
  const b = await replica(t, bus, 'b');
  const ending = new AbortController();
  const claiming = b.claim('two', ending.signal);
  await turn();
  ending.abort(new Error('told to end'));
  await assert.rejects(claiming, /told to end/);
});
