import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectBus, type Bucket, type Bus } from '@switchyard/bus';
import { REPLICAS_BUCKET, TOKENS_BUCKET, type ServiceName } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { startNatsServer, type NatsServer } from '@switchyard/testkit';
import { countReplicas, reportRevisions, watchReplicas } from './replica-reports.ts';

const LONG = 30_000;
/** Time for a replica to report again; longer than a busy machine needs to notice it. */
const HOLD_MS = 2_000;
const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

async function openBus(t: TestContext): Promise<Bus> {
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  return bus;
}

/** A server that can lose its data, and buses that wait two seconds for lost entries. */
async function openServer(t: TestContext): Promise<{ server: NatsServer; join: (service: ServiceName) => Promise<Bus> }> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  return {
    server,
    async join(service) {
      const options = { log: silentLogger(), service, bufferTimeoutMs: HOLD_MS };
      const bus = await connectBus(server.url, options);
      stack.defer(() => bus.drain());
      return bus;
    },
  };
}

/** Resolves with the revision of the last of `count` writes. */
async function write(bucket: Bucket, times: number): Promise<number> {
  let revision = 0;
  for (let n = 0; n < times; n++) revision = await bucket.put('default.alice', Buffer.from(String(n)));
  return revision;
}

test('awaitRevision resolves at once without live replicas', async (t) => {
  const bus = await openBus(t);
  using replicas = await watchReplicas(bus, TOKENS_BUCKET);
  assert.equal(await replicas.awaitRevision({ service: 'gateway', revision: 7, timeoutMs: LONG }), true);
});

test('awaitRevision resolves when the last live replica has the revision', async (t) => {
  const bus = await openBus(t);
  using replicas = await watchReplicas(bus, TOKENS_BUCKET);
  await using a = await reportRevisions(bus, 'gateway', 'a');
  await using b = await reportRevisions(bus, 'gateway', 'b');
  await using other = await reportRevisions(bus, 'sessions', 'a');
  for (const replica of [a, b, other]) replica.applied('tokens', 1);
  await bus.flush();

  let done = false;
  const waiting = replicas.awaitRevision({ service: 'gateway', revision: 3, timeoutMs: LONG }).then((all) => {
    done = true;
    return all;
  });
  a.applied('tokens', 3);
  await bus.flush();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(done, false);
  b.applied('tokens', 4);
  assert.equal(await waiting, true);
});

test('awaitRevision resolves with false at the timeout while a replica is behind or reports only other buckets', async (t) => {
  const bus = await openBus(t);
  await using a = await reportRevisions(bus, 'gateway', 'a');
  a.applied('config', 9);
  await bus.flush();
  using replicas = await watchReplicas(bus, TOKENS_BUCKET);
  assert.equal(await replicas.awaitRevision({ service: 'gateway', revision: 1, timeoutMs: 30 }), false);
});

test('awaitRevision ignores a replica that has left', async (t) => {
  const bus = await openBus(t);
  using replicas = await watchReplicas(bus, TOKENS_BUCKET);
  await using a = await reportRevisions(bus, 'gateway', 'a');
  const b = await reportRevisions(bus, 'gateway', 'b');
  a.applied('tokens', 5);
  b.applied('tokens', 1);
  await bus.flush();
  const waiting = replicas.awaitRevision({ service: 'gateway', revision: 5, timeoutMs: LONG });
  await b[Symbol.asyncDispose]();
  assert.equal(await waiting, true);
  assert.deepEqual(await (await bus.kv(REPLICAS_BUCKET)).keys(), ['gateway.a']);
});

test('does not confuse revisions from before and after a data loss of the bus', { skip: OFF, timeout: 30_000 }, async (t) => {
  const { server, join } = await openServer(t);
  const [bus, of] = [await join('secrets'), await join('gateway')];
  const bucket = await bus.kv(TOKENS_BUCKET);
  const before = await write(bucket, 9);
  await using a = await reportRevisions(of, 'gateway', 'a');
  a.applied('tokens', before);
  using replicas = await watchReplicas(bus, TOKENS_BUCKET);
  assert.equal(await replicas.awaitRevision({ service: 'gateway', revision: before, timeoutMs: LONG }), true);

  const restored = new Promise<void>((resolve) => bus.onRestored(resolve));
  await server.restart({ empty: true });
  await restored;
  const since = await write(bucket, 1);
  // The replica reports again by itself and has not seen the new writes yet.
  const reports = await bus.kv(REPLICAS_BUCKET);
  while ((await reports.get('gateway.a')) === undefined) await bus.flush();
  using late = await watchReplicas(bus, TOKENS_BUCKET);
  assert.deepEqual(
    late.all().map(({ replica, revision }) => [replica, revision]),
    [['gateway.a', before]],
  );
  for (const watched of [replicas, late])
    assert.equal(await watched.awaitRevision({ service: 'gateway', revision: since, timeoutMs: 30 }), false);
  a.applied('tokens', since);
  for (const watched of [replicas, late])
    assert.equal(await watched.awaitRevision({ service: 'gateway', revision: since, timeoutMs: LONG }), true);
});

test('waits for replicas that have not reported again after a data loss of the bus', { skip: OFF, timeout: 30_000 }, async (t) => {
  const { server, join } = await openServer(t);
  const bus = await join('secrets');
  const [bucket, reports] = [await bus.kv(TOKENS_BUCKET), await bus.kv(REPLICAS_BUCKET)];
  const report = (key: string, revision: number) => reports.put(key, Buffer.from(JSON.stringify({ revisions: { tokens: revision } })));
  const before = await write(bucket, 1);
  for (const key of ['gateway.slow', 'gateway.dead']) await report(key, before);
  using replicas = await watchReplicas(bus, TOKENS_BUCKET);

  const restored = new Promise<void>((resolve) => bus.onRestored(resolve));
  await server.restart({ empty: true });
  await restored;
  const since = await write(bucket, 1);
  const expected = { service: 'gateway', revision: since, timeoutMs: LONG };
  assert.equal(await replicas.awaitRevision({ ...expected, timeoutMs: 30 }), false);
  await report('gateway.slow', since);
  assert.equal(await replicas.awaitRevision(expected), true);
  assert.deepEqual(
    replicas.all().map(({ replica }) => replica),
    ['gateway.slow'],
    'the other has not come back, and is gone',
  );
});

test('repeats the report before it expires, also when revisions start again from zero', async (t) => {
  const bus = await openBus(t);
  t.mock.timers.enable({ apis: ['setInterval'] });
  await using a = await reportRevisions(bus, 'gateway', 'a');
  a.applied('tokens', 57);
  a.applied('tokens', 2);
  await bus.flush();
  const bucket = await bus.kv(REPLICAS_BUCKET);
  const first = await bucket.get('gateway.a');
  assert.deepEqual(JSON.parse(Buffer.from(first?.value ?? '').toString()), { revisions: { tokens: 2 } });
  t.mock.timers.tick(15_000);
  await bus.flush();
  const again = await bucket.get('gateway.a');
  assert.ok((again?.revision ?? 0) > (first?.revision ?? 0));
});

test('countReplicas follows joining and leaving replicas and returns at least one', async (t) => {
  const bus = await openBus(t);
  const first = await reportRevisions(bus, 'sessions', 'a');
  first.applied('agents', 1);
  await using other = await reportRevisions(bus, 'gateway', 'a');
  other.applied('agents', 1);
  await bus.flush();
  using replicas = await countReplicas(bus, 'sessions');
  assert.equal(replicas.count(), 1);
  const second = await reportRevisions(bus, 'sessions', 'b');
  second.applied('agents', 1);
  await bus.flush();
  await bus.flush();
  assert.equal(replicas.count(), 2);
  await Promise.all([first[Symbol.asyncDispose](), second[Symbol.asyncDispose]()]);
  await bus.flush();
  assert.equal(replicas.count(), 1, 'whoever counts is one');
});
