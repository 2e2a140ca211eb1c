import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectBus, type Bus } from '@switchyard/bus';
import { REPLICAS_BUCKET } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { awaitRevision, countReplicas, reportRevisions } from './replicas.ts';

async function openBus(t: TestContext): Promise<Bus> {
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  return bus;
}

const LONG = 30_000;

test('nobody to wait for is no wait', async (t) => {
  const bus = await openBus(t);
  assert.equal(await awaitRevision({ bus, service: 'gateway', bucket: 'tokens', revision: 7, timeoutMs: LONG }), true);
});

test('resolves when the last live replica has the revision, and not before', async (t) => {
  const bus = await openBus(t);
  await using a = await reportRevisions(bus, 'gateway', 'a');
  await using b = await reportRevisions(bus, 'gateway', 'b');
  await using other = await reportRevisions(bus, 'sessions', 'a');
  for (const replica of [a, b, other]) replica.applied('tokens', 1);
  await bus.flush();

  let done = false;
  const waiting = awaitRevision({ bus, service: 'gateway', bucket: 'tokens', revision: 3, timeoutMs: LONG }).then((all) => {
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

test('false at the time-out while somebody is behind, or reports other buckets alone', async (t) => {
  const bus = await openBus(t);
  await using a = await reportRevisions(bus, 'gateway', 'a');
  a.applied('config', 9);
  await bus.flush();
  assert.equal(await awaitRevision({ bus, service: 'gateway', bucket: 'tokens', revision: 1, timeoutMs: 30 }), false);
});

test('a replica that leaves is no longer waited for', async (t) => {
  const bus = await openBus(t);
  await using a = await reportRevisions(bus, 'gateway', 'a');
  const b = await reportRevisions(bus, 'gateway', 'b');
  a.applied('tokens', 5);
  b.applied('tokens', 1);
  await bus.flush();
  const waiting = awaitRevision({ bus, service: 'gateway', bucket: 'tokens', revision: 5, timeoutMs: LONG });
  await b[Symbol.asyncDispose]();
  assert.equal(await waiting, true);
  assert.deepEqual(await (await bus.kv(REPLICAS_BUCKET)).keys(), ['gateway.a']);
});

test('a report says what is in force, also where the bus began to count anew, and is repeated before it expires', async (t) => {
  const bus = await openBus(t);
  t.mock.timers.enable({ apis: ['setInterval'] });
  await using a = await reportRevisions(bus, 'gateway', 'a');
  a.applied('tokens', 57);
  a.applied('tokens', 2);
  await bus.flush();
  const bucket = await bus.kv(REPLICAS_BUCKET);
  const first = await bucket.get('gateway.a');
  assert.deepEqual(JSON.parse(Buffer.from(first?.value ?? '').toString()), { revisions: { tokens: 2 } });
  t.mock.timers.tick(5_000);
  await bus.flush();
  const again = await bucket.get('gateway.a');
  assert.ok((again?.revision ?? 0) > (first?.revision ?? 0));
});

test('replicas are counted as they come and go, and there is always one', async (t) => {
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
