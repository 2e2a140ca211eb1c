import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  CONFIG_BUCKET,
  gateway as gatewayContract,
  registry as registryContract,
  REPLICAS_BUCKET,
  secrets as secretsContract,
  servicePrincipal,
} from '@switchyard/contracts';
import { collection } from '@switchyard/store';
import { tempDir } from '@switchyard/testkit';
import { createLogger, silentLogger } from '@switchyard/telemetry';
import { z } from 'zod';
import { defineService, type Setup } from './service-definition.ts';
import { openHost, type Host } from '../host/host.ts';
import { startService } from './service-start.ts';

/** Fails the test if a change does not arrive in time. */
const PATIENCE_MS = 10_000;

async function host(t: TestContext, env: Record<string, string> = {}): Promise<Host> {
  const data = await mkdtemp(join(tmpdir(), 'switchyard-'));
  const opened = await openHost({ env: { SWITCHYARD_DATA: data, SWITCHYARD_CONFIG: ':', ...env }, log: silentLogger() });
  t.after(async () => {
    await opened[Symbol.asyncDispose]();
    await rm(data, { recursive: true });
  });
  return opened;
}

const agents = collection({ name: 'agents', key: 'agentId', schema: z.object({ agentId: z.string(), deletedAt: z.int().optional() }) });

/** A complete service with a method, documents, a durable event and a setting. */
const small = defineService({
  contract: registryContract,
  version: '1.2.3',
  settings: ['models'],

  async setup({ store, settings }) {
    const data = await store.open({ agents });
    return {
      'agents.delete': async ({ agentId }, ctx) => {
        const mine = data.agents.for(ctx.principal);
        await mine.insert({ agentId }, { emit: [{ name: 'agent:hot_removed', payload: { agentId } }] });
        await mine.remove({ agentId });
        return { agentId, deleted: true };
      },
      'agents.list': () => ({ agents: [settings.current.models.defaultModel] }),
    };
  },
});

/** A service with one handler, for drain and failure tests. */
function ping(answer: () => Promise<void>, setup: (options: Setup<'gateway'>) => void = () => undefined) {
  return defineService({
    contract: gatewayContract,
    version: '1.0.0',
    settings: ['gateway'],
    setup(given) {
      setup(given);
      return {
        'system.ping': async () => {
          await answer();
          return { pong: true as const, ts: 1 };
        },
      };
    },
  });
}

test('serves methods, publishes the events of writes and reports ready', { timeout: PATIENCE_MS }, async (t) => {
  const on = await host(t, { SWITCHYARD_MODELS__DEFAULT_MODEL: 'dev/echo' });
  const record = { 'audit.begin': () => ({ begun: true as const }), 'audit.finish': () => ({ recorded: true as const }) };
  await (await on.connect('secrets')).serve(secretsContract, record, { version: '1.0.0' });
  await using _service = await startService(small, on);
  const caller = await on.connect('gateway');
  const event = new Promise<unknown>((resolve) => caller.on('agent:hot_removed', ({ payload, tenant }) => resolve({ payload, tenant })));
  const acme = caller.as({ ...servicePrincipal('test'), tenant: 'acme' });
  await acme.call('agents.delete', { agentId: 'oslo' });
  assert.deepEqual(await event, { payload: { agentId: 'oslo' }, tenant: 'acme' });
  assert.deepEqual(await acme.call('agents.list', {}), { agents: ['dev/echo'] });
  assert.equal(on.health.readiness().ready, true, JSON.stringify(on.health.readiness()));
});

test('a service acts for the configured tenant by default', { timeout: PATIENCE_MS }, async (t) => {
  const on = await host(t, { SWITCHYARD_TENANT_ID: 'acme' });
  const hears = await on.connect('gateway');
  const event = new Promise<string>((resolve) => hears.on('agent:hot_removed', ({ tenant }) => resolve(tenant)));
  await hears.flush();
  (await on.connect('registry')).emit('agent:hot_removed', { agentId: 'oslo', timestamp: 1 });
  assert.equal(await event, 'acme');
});

test('each replica has a name and reports its configuration revision', { timeout: PATIENCE_MS }, async (t) => {
  const on = await host(t);
  await using _service = await startService(small, on);
  const bucket = await on.bus.kv(REPLICAS_BUCKET);
  const replica = on.replica('registry');
  assert.match(replica, /^registry-[0-9A-Za-z]{8}$/);
  const reported = Promise.withResolvers<void>();
  const revision = await (await on.bus.kv(CONFIG_BUCKET)).put('head', Buffer.from('{"layer":{"logLevel":"warn"}}'));
  const watch = await bucket.watch(({ key, value }) => {
    if (
      key === `registry.${replica}` &&
      Buffer.from(value ?? '')
        .toString()
        .includes(`"config":${revision}`)
    )
      reported.resolve();
  });
  await reported.promise;
  watch.stop();
  assert.equal((await host(t, { SWITCHYARD_REPLICA: 'mine' })).replica('registry'), 'mine');
});

test('the log of the host follows logLevel and daemon.logLevels', { timeout: PATIENCE_MS }, async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'switchyard-'));
  const written: string[] = [];
  const on = await openHost({
    env: { SWITCHYARD_DATA: data, SWITCHYARD_CONFIG: ':', SWITCHYARD_LOG_LEVEL: 'warn' },
    preset: { daemon: { logLevels: { store: 'debug' } } },
    logDestination: { write: (line) => void written.push(line) },
  });
  t.after(async () => {
    await on[Symbol.asyncDispose]();
    await rm(data, { recursive: true });
  });
  const service = on.log.child({ service: 'registry' });
  service.info('not this');
  service.child({ module: 'store' }).debug('but this');
  assert.deepEqual(
    written.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['but this'],
  );
});

test('disposing finishes running calls, then disposes own resources, then closes the store', { timeout: PATIENCE_MS }, async (t) => {
  const on = await host(t);
  const order: string[] = [];
  const running = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const service = await startService(
    ping(
      async () => {
        running.resolve();
        await release.promise;
        order.push('answered');
      },
      ({ own, store, settings }) => {
        assert.equal(settings.current.gateway.port, 4766);
        own.defer(() => void order.push('own'));
        const close = store.close.bind(store);
        store.close = () => {
          order.push('store');
          return close();
        };
      },
    ),
    on,
  );
  const caller = await on.connect('sessions');
  const call = caller.call('system.ping', {});
  await running.promise;
  const disposed = service[Symbol.asyncDispose]();
  assert.equal(on.health.readiness().dependencies['gateway']?.reason, 'draining');
  await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(caller.call('system.ping', {}), { code: 'UNAVAILABLE' }, 'new calls are not taken');
  assert.deepEqual(order, []);
  release.resolve();
  assert.equal((await call).pong, true);
  await disposed;
  assert.deepEqual(order, ['answered', 'own', 'store']);
  assert.deepEqual(await (await on.bus.kv(REPLICAS_BUCKET)).keys(), []);
});

test('creates a database only for a service that opens a collection', async (t) => {
  const on = await host(t);
  const dir = on.environment.store.replace('sqlite:', '');
  await using _none = await startService(
    ping(
      () => Promise.resolve(),
      ({ store }) => assert.throws(() => store.now(), { code: 'INTERNAL' }),
    ),
    on,
  );
  assert.equal(existsSync(dir), false);
  await using _some = await startService(small, on);
  assert.deepEqual(
    readdirSync(dir).filter((file) => file.endsWith('.db')),
    ['registry.db'],
  );
});

test('undoes a failed setup, and the service can start again', async (t) => {
  const on = await host(t);
  const undone: string[] = [];
  const broken = ping(
    () => Promise.resolve(),
    ({ own }) => {
      own.defer(() => void undone.push('own'));
      throw new Error('no more');
    },
  );
  await assert.rejects(startService(broken, on), /no more/);
  assert.deepEqual(undone, ['own']);
  assert.deepEqual(on.health.readiness().dependencies['gateway']?.ready, false);
  await using _again = await startService(
    ping(() => Promise.resolve()),
    on,
  );
  assert.equal((await (await on.connect('sessions')).call('system.ping', {})).pong, true);
});

test('logs settings without effect and their origin in one line', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'switchyard-'));
  t.after(() => rm(data, { recursive: true }));
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
  for (const more of [{}, { SWITCHYARD_AUTO_REPLY_ENGINE__ENABLED: 'false', SWITCHYARD_GATEWAY__PORT: '0' }]) {
    await using _host = await openHost({ env: { SWITCHYARD_DATA: data, SWITCHYARD_CONFIG: ':', ...more }, log });
  }
  const warnings = lines.map((line) => JSON.parse(line) as { msg: string; settings?: string[] }).filter(({ settings }) => settings);
  assert.deepEqual(
    warnings.map(({ msg, settings }) => [msg, settings]),
    [['no service uses these settings yet', ['autoReplyEngine.enabled (SWITCHYARD_AUTO_REPLY_ENGINE__ENABLED)']]],
  );
});

test('security.logRedaction and security.auditLog control the log', async () => {
  for (const on of [true, false]) {
    await using data = await tempDir();
    const lines: string[] = [];
    const env = { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':' };
    const logDestination = { write: (line: string) => void lines.push(line) };
    await using host = await openHost({ env, preset: { security: { logRedaction: on, auditLog: on } }, logDestination });
    host.log.audit({ client: 'ops' }, 'a token was revoked');
    host.log.warn('sk-ant-0123456789abcdef');
    const text = lines.join('');
    assert.equal(text.includes('a token was revoked'), on, 'security.auditLog');
    assert.equal(text.includes('sk-ant-0123456789abcdef'), !on, 'security.logRedaction');
    assert.equal(/security\.logRedaction is false/.test(text), !on);
  }
});
