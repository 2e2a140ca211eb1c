import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { CONFIG_BUCKET, gateway as gatewayContract, type ConfigurationPatch } from '@switchyard/contracts';
import { defineService, reportRevisions } from '@switchyard/service-kit';
import { createLogger } from '@switchyard/telemetry';
import { principal, startNatsServer, tempDir, testService, type TestService, type TestServiceOptions } from '@switchyard/testkit';
import { registry } from './service.ts';

const ops = principal({ client: 'ops', scopes: ['*'] });
const PATIENCE_MS = 30_000;

/** A service with its own check: it refuses more than ten calls in a batch. */
const picky = defineService({
  contract: gatewayContract,
  version: '1.0.0',
  settings: ['gateway'],
  setup({ settings }) {
    settings.onChange(({ gateway }) => {
      if (gateway.maxBatchSize > 10) throw new Error('ten is the most');
    });
    return {};
  },
});

/** Starts replicas of the registry, then the other services. Returns all of them in this order. */
async function replicas(
  t: TestContext,
  count: number,
  options: TestServiceOptions = {},
  others: readonly (typeof picky)[] = [],
): Promise<[TestService, ...TestService[]]> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const { path } = stack.use(await tempDir());
  const started: TestService[] = [];
  for (let at = 0; at < count; at++)
    started.push(
      stack.use(await testService(registry, { as: ops, data: path, ...options, env: { SWITCHYARD_BUS: server.url, ...options.env } })),
    );
  for (const other of others) started.push(stack.use(await testService(other, { as: ops, env: { SWITCHYARD_BUS: server.url } })));
  const [first, ...rest] = started;
  assert.ok(first);
  return [first, ...rest];
}

async function waitUntil<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function inForce(app: TestService) {
  return (await app.bus.call('gateway.status', {})).configuration ?? assert.fail('no version is published');
}

test(
  'three writers at two replicas: one chain, every write a version, nothing lost, and everybody runs the newest',
  { timeout: 180_000 },
  async (t) => {
    const [app, other] = await replicas(t, 2);
    assert.ok(other);
    const keys = ['maxBatchSize', 'wsHeartbeatMs', 'wsMaxMessageBytes'] as const;
    const writers = keys.map(async (key, at) => {
      const { bus } = [app, other][at % 2] ?? app;
      for (let n = 1; n <= 100; n++) await bus.call('config.set', { section: 'gateway', key, value: n });
    });
    await Promise.all(writers);

    const { entries } = await app.bus.call('config.history', { limit: 1_000 });
    assert.equal(entries.length, 301);
    assert.deepEqual(
      entries.map(({ parent }) => parent),
      [...entries.slice(1).map(({ sha }) => sha), undefined],
    );
    for (const { host } of [app, other]) {
      await waitUntil(async () => host.settings.stored['gateway'] !== undefined && host.settings.current.gateway.maxBatchSize === 100);
      const { gateway } = host.settings.current;
      assert.deepEqual([gateway.maxBatchSize, gateway.wsHeartbeatMs, gateway.wsMaxMessageBytes], [100, 100, 100]);
    }
    const now = await waitUntil(async () => {
      const state = await inForce(app);
      return state.lagging.length === 0 && state;
    });
    assert.deepEqual([now.sha, now.replicas], [entries[0]?.sha, 2]);
  },
);

test('gateway.status and config.history name a replica that does not run the newest version', { timeout: PATIENCE_MS }, async (t) => {
  const [app] = await replicas(t, 1);
  await app.bus.call('config.patch', { logLevel: 'warn' });
  await using behind = await reportRevisions(app.host.bus, 'sessions', 'slow');
  behind.applied(CONFIG_BUCKET.name, 1);
  const [lagging] = await waitUntil(async () => {
    const matches = (await inForce(app)).lagging.filter(({ replica }) => replica === 'sessions.slow');
    return matches.length > 0 && matches;
  });
  assert.deepEqual(lagging, { replica: 'sessions.slow', revision: 1 });
  const { inForce: received } = await app.bus.call('config.history', {});
  assert.ok(received?.lagging.some(({ replica }) => replica === 'sessions.slow'));
});

test('rolls back a version that a service refuses and reports the reason', { timeout: PATIENCE_MS }, async (t) => {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void lines.push(line) } });
  const started = await replicas(t, 2, { log }, [picky]);
  const [app] = started;
  await app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 7 });
  const good = (await app.bus.call('config.history', { limit: 1 })).entries[0];
  await app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 11 });

  const [back] = await waitUntil(async () => {
    const { entries } = await app.bus.call('config.history', {});
    return entries[0]?.reason !== undefined && entries;
  });
  assert.deepEqual([back?.author, back?.restores, back?.section], ['switchyard', good?.sha, 'gateway']);
  assert.match(back?.reason ?? '', /^[0-9a-f]{12}: gateway\.\S+ refused it: ten is the most$/);
  await waitUntil(async () => app.host.settings.current.gateway.maxBatchSize === 7);
  const messages = [];
  for (let n = 0; n < 3; n++) messages.push(await app.nextEvent('config:patched'));
  assert.deepEqual(
    messages.map(({ patchedBy, reason }) => [patchedBy, reason]),
    [
      ['ops', undefined],
      ['ops', undefined],
      ['switchyard', back?.reason],
    ],
  );
  assert.equal((await app.bus.call('config.history', {})).entries.length, 4, 'one rollback by one of the replicas');
  // Each test service serves the audit methods, so that any of them may have received the record.
  const audited = await waitUntil(async () => started.flatMap((one) => one.audited).find(({ target }) => target['sha'] === back?.sha));
  const { method, kind, id } = audited;
  assert.deepEqual([method, kind], ['config.rollback', 'mutate']);
  const line = lines.find((one) => one.includes('was rolled back')) ?? '';
  const { auditId, sha, reason } = JSON.parse(line) as Record<string, string>;
  assert.deepEqual([auditId, sha], [id, back?.sha.slice(0, 12)]);
  assert.match(reason ?? '', /ten is the most/);
});

test('keeps an older version that a replica refuses', { timeout: PATIENCE_MS }, async (t) => {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void lines.push(line) } });
  const [app] = await replicas(t, 1, { log });
  await app.bus.call('config.patch', { logLevel: 'warn' });
  const received = await inForce(app);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 });
  await using late = await reportRevisions(app.host.bus, 'sessions', 'late');
  late.refused(CONFIG_BUCKET.name, { revision: received.revision, reason: 'its own file is wrong' });
  const [named] = await waitUntil(async () => {
    const found = (await inForce(app)).lagging.filter(({ replica }) => replica === 'sessions.late');
    return found.length > 0 && found;
  });
  assert.deepEqual(named?.refused, 'its own file is wrong');
  await waitUntil(async () => lines.some((line) => line.includes('it is kept') && line.includes('sessions.late')));
  assert.equal((await app.bus.call('config.history', {})).entries[0]?.message, 'config.patch logLevel');
});

test('corrects a foreign entry in the bucket, and publishes again after the server lost its store', { timeout: PATIENCE_MS }, async (t) => {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const app = stack.use(await testService(registry, { as: ops, env: { SWITCHYARD_BUS: server.url } }));
  await app.bus.call('config.patch', { gateway: { maxBatchSize: 3 } });
  const bucket = await app.host.bus.kv(CONFIG_BUCKET);
  const layerIn = async (): Promise<ConfigurationPatch | undefined> => {
    const entry = await bucket.get('head').catch(() => undefined);
    return entry?.value && (JSON.parse(Buffer.from(entry.value).toString()) as { layer: ConfigurationPatch }).layer;
  };
  await bucket.put('head', Buffer.from('{"layer":{"gateway":{"maxBatchSize":9}}}'));
  await waitUntil(async () => (await layerIn())?.gateway?.maxBatchSize === 3);

  const restored = new Promise<void>((resolve) => app.host.bus.onRestored(resolve));
  await server.restart({ empty: true });
  await restored;
  await waitUntil(async () => (await layerIn())?.gateway?.maxBatchSize === 3);
});
