import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnectionImpl } from '@nats-io/nats-core/internal';
import { connect } from '@nats-io/transport-node';
import { silentLogger } from '@switchyard/telemetry';
import { startNatsServer, type NatsServer } from '@switchyard/testkit';
import type { Watch } from '../wire/transport.ts';
import { ensureBucket } from './nats-bucket.ts';
import { createBusConnection, type BusConnection } from './nats-connection.ts';
import { openWatch } from './nats-watch.ts';

const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const BUCKET = 'guard';

interface Scene {
  server: NatsServer;
  link: BusConnection;
  manager: JetStreamManager;
  watch(manager?: JetStreamManager): Promise<Watch>;
  /** Number of subscriptions that the client restores on each reconnect. */
  subscriptions(): number;
  consumers(): Promise<number>;
  /** Drops the connection. The client reconnects. */
  cut(): Promise<void>;
}

async function scene(t: TestContext): Promise<Scene> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const connection = await connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 20 });
  stack.defer(() => connection.close());
  const link = createBusConnection(connection, { inbox: '_INBOX_test', log: silentLogger() });
  const manager = await jetstreamManager(connection);
  await ensureBucket(manager, { name: BUCKET });
  const { protocol } = connection as NatsConnectionImpl;
  return {
    server,
    link,
    manager,
    watch: (request = manager) => openWatch({ link, manager: request }, BUCKET, () => undefined),
    subscriptions: () => protocol.subscriptions.size(),
    consumers: async () => (await manager.streams.info(`KV_${BUCKET}`)).state.consumer_count,
    cut: () => connection.reconnect(),
  };
}

/** Polls, because the server reports no event for removed consumers. */
async function eventually(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}

test('a watch stopped during its recreation leaves no subscription and no consumer', { skip: OFF, timeout: 60_000 }, async (t) => {
  const { watch, manager, subscriptions, consumers, cut, link } = await scene(t);
  const before = subscriptions();
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let loaded = false;
  const info: JetStreamManager['streams']['info'] = async (...inputs) => {
    if (loaded) {
      asked.resolve();
      await answered.promise;
    }
    return manager.streams.info(...inputs);
  };
  const slow = { streams: { info }, consumers: manager.consumers } as JetStreamManager;
  const stopping = await watch(slow);
  loaded = true;
  await cut();
  await asked.promise;
  stopping.stop();
  answered.resolve();
  await eventually(async () => (await consumers()) === 0);
  await link.flush();
  assert.equal(subscriptions(), before);
  assert.equal(await consumers(), 0);
});

test('a watch stopped during an outage is not recreated', { skip: OFF, timeout: 60_000 }, async (t) => {
  const { watch, server, subscriptions, link } = await scene(t);
  const before = subscriptions();
  const stopping = await watch();
  assert.equal(subscriptions(), before + 1);
  await server.kill();
  await eventually(() => !link.connected());
  stopping.stop();
  await server.restart();
  await eventually(() => link.connected());
  await link.flush();
  assert.equal(subscriptions(), before);
});

test('stopped watches leave no consumers on the server', { skip: OFF, timeout: 60_000 }, async (t) => {
  const { watch, consumers } = await scene(t);
  const staying = await watch();
  for (let n = 0; n < 20; n++) (await watch()).stop();
  const stoppedAt = Date.now();
  await eventually(async () => (await consumers()) === 1);
  assert.ok(Date.now() - stoppedAt < 5_000, 'within moments');
  assert.equal(staying.lostSince(), undefined);
  staying.stop();
});
