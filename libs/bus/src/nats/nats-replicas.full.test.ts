import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { silentLogger } from '@switchyard/telemetry';
import { freePort, startNatsServer, type NatsServer } from '@switchyard/testkit';
import { connectNats } from './connect-nats.ts';

const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const NAMES = ['one', 'two', 'three'];
const LOG = { name: 'KEPT', subjects: ['kept.*'], maxAgeMs: 600_000, storage: 'memory' as const };
const BUCKET = { name: 'things' };
const MiB = 1_048_576;

/** Retries until the work succeeds, because an election or an unreachable server is temporary. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Starts a cluster. Its servers stop last, after the clients of the test. */
async function startCluster(stack: AsyncDisposableStack): Promise<Map<string, NatsServer>> {
  const ports = await Promise.all(NAMES.map(() => freePort()));
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(', ');
  const started = await Promise.all(
    NAMES.map((name, at) =>
      startNatsServer({
        configuration: `server_name: ${name}\ncluster { name: c, listen: "127.0.0.1:${ports[at]}", routes: [${routes}] }`,
      }),
    ),
  );
  stack.defer(async () => void (await Promise.all(started.map((server) => server.stop()))));
  return new Map(NAMES.map((name, at) => [name, started[at] as NatsServer]));
}

async function join(stack: AsyncDisposableStack, servers: Map<string, NatsServer>) {
  const urls = [...servers.values()].map(({ url }) => url);
  const transport = await connectNats(urls.join(','), { log: silentLogger() });
  stack.defer(() => transport.drain());
  const connection = await connect({ servers: urls, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  stack.defer(() => connection.close());
  return { transport, manager: await jetstreamManager(connection, { checkAPI: false }) };
}

/** Returns the leader of a stream once all replicas are current. */
async function getLeader(manager: JetStreamManager, name: string, copies: number): Promise<string> {
  return persist(async () => {
    const { cluster } = await manager.streams.info(name);
    const current = cluster?.replicas?.filter((one) => one.current) ?? [];
    assert.equal(current.length, copies - 1);
    return cluster?.leader ?? assert.fail('the stream has no leader');
  });
}

test('three copies survive the loss of one of three servers', { skip: OFF, timeout: 90_000 }, async () => {
  await using stack = new AsyncDisposableStack();
  const servers = await startCluster(stack);
  const { transport, manager } = await join(stack, servers);
  const [log, bucket] = [await persist(() => transport.log(LOG)), await persist(() => transport.kv(BUCKET))];
  await persist(() => log.append({ subject: 'kept.a', data: Buffer.from('0') }, 'id-0'));
  await persist(() => bucket.put('large', Buffer.alloc(MiB, 'x')));

  // Existing streams get their replicas as well.
  await persist(() => transport.log({ ...LOG, copies: 3 }));
  await persist(() => transport.kv({ ...BUCKET, copies: 3 }));
  const leader = await getLeader(manager, 'KV_things', 3);
  await getLeader(manager, 'KEPT', 3);
  await transport.kv(BUCKET); // a service, which does not configure replicas
  assert.equal((await manager.streams.info('KV_things')).config.num_replicas, 3);

  const told = new Map<string, number | undefined>();
  const watch = await bucket.watch(({ key, value }) => void told.set(key, value?.length));
  for (let n = 1; n <= 20; n++) {
    await log.append({ subject: 'kept.a', data: Buffer.from(String(n)) }, `id-${n}`);
    await bucket.put(`k${n}`, Buffer.alloc(n * 5_000, 'y'));
    if (n === 10) await servers.get(leader)?.kill();
    if (n === 10) await persist(() => bucket.put('after', Buffer.from('!')));
    if (n === 10) await persist(() => log.append({ subject: 'kept.a', data: Buffer.from('after') }, 'id-after'));
  }
  const keptItems = (await persist(() => log.read('kept.a'))).map(({ data }) => Buffer.from(data).toString());
  assert.deepEqual(keptItems.toSorted(), [...Array.from({ length: 21 }, (_, n) => String(n)), 'after'].toSorted());
  assert.deepEqual((await bucket.get('large'))?.value, new Uint8Array(Buffer.alloc(MiB, 'x')));
  for (let n = 1; n <= 20; n++) {
    assert.equal((await bucket.get(`k${n}`))?.value?.length, n * 5_000);
    await persist(async () => assert.equal(told.get(`k${n}`), n * 5_000));
  }
  assert.equal((await bucket.keys()).length, 22);
  watch.stop();
});

test('rejects more copies than servers with TOO_FEW_SERVERS', { skip: OFF, timeout: 60_000 }, async () => {
  await using stack = new AsyncDisposableStack();
  const alone = await startNatsServer();
  stack.defer(() => alone.stop());
  const single = await join(stack, new Map([['alone', alone]]));
  const refused = { code: 'FAILED_PRECONDITION', details: { reason: 'TOO_FEW_SERVERS' } };
  await assert.rejects(single.transport.log({ ...LOG, copies: 3 }), {
    ...refused,
    message: 'The bus cannot keep 3 copies of the stream KEPT: too few servers are available or have space.',
  });
  await single.transport.kv(BUCKET);
  await assert.rejects(single.transport.kv({ ...BUCKET, copies: 3 }), refused);
  const { transport } = await join(stack, await startCluster(stack));
  await persist(() => transport.log(LOG));
  await assert.rejects(transport.log({ ...LOG, copies: 5 }), refused);
});
