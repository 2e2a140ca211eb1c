import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ctx } from '@switchyard/bus';
import { contracts, registry as contract, secrets as secretsContract } from '@switchyard/contracts';
import { createSecretReader, defineService } from '@switchyard/service-kit';
import { collection, type Collection } from '@switchyard/store';
import { createLogger } from '@switchyard/telemetry';
import { z } from 'zod';
import { principal } from './principal.ts';
import { resolveSecrets } from './secret-resolver.ts';
import { tempDir } from '../processes/temp-dir.ts';
import { testService } from './test-service.ts';

const agents = collection({ name: 'agents', key: 'agentId', schema: z.object({ agentId: z.string() }) });

const registry = defineService({
  contract,
  version: '1.0.0',
  settings: ['models'],
  async setup({ store, settings, bus, env }) {
    const data = await store.open({ agents });
    return {
      'agents.list': async (_params, ctx) => ({
        agents: (await data.agents.for(ctx.principal).find({})).items.map(({ agentId }) => agentId),
      }),
      'agents.delete': async ({ agentId }, ctx) => {
        await data.agents
          .for(ctx.principal)
          .insert({ agentId }, { emit: [{ name: 'agent:hot_removed', payload: { agentId, timestamp: store.now() } }] });
        return { agentId, deleted: true };
      },
      'models.visible': async () => {
        const value = await createSecretReader(bus, 'registry')('OPENAI_API_KEY');
        return { models: [settings.current.models.defaultModel, env['MODEL'] ?? '', value ?? ''].map((id) => ({ id, ownedBy: 'test' })) };
      },
    };
  },
});

test('testService serves on its own bus and database and returns events', async () => {
  await using app = await testService(registry, { as: principal({ tenant: 'a' }) });
  await app.bus.call('agents.delete', { agentId: 'oslo' });
  await app.bus.call('agents.delete', { agentId: 'rome' });
  assert.equal((await app.nextEvent('agent:hot_removed')).agentId, 'oslo');
  assert.equal((await app.nextEvent('agent:hot_removed')).agentId, 'rome');
  assert.deepEqual(await app.bus.call('agents.list', {}), { agents: ['oslo', 'rome'] });

  const elsewhere = app.bus.as(principal({ tenant: 'b' }));
  assert.deepEqual(await elsewhere.call('agents.list', {}), { agents: [] });
});

test('two test services share nothing', async () => {
  await using one = await testService(registry);
  await using two = await testService(registry);
  await one.bus.call('agents.delete', { agentId: 'oslo' });
  assert.deepEqual(await two.bus.call('agents.list', {}), { agents: [] });
});

test('testService accepts settings, environment and stubs of other services', async () => {
  await using app = await testService(registry, {
    settings: { models: { defaultModel: 'dev/echo' } },
    env: { MODEL: 'dev/slow' },
    async prepare(host) {
      const bus = await host.connect('secrets');
      await bus.serve(secretsContract, { 'secrets.resolve': resolveSecrets({ OPENAI_API_KEY: 'dev/tools' }) }, { version: '0.0.0' });
    },
  });
  const { models } = await app.bus.call('models.visible', {});
  assert.deepEqual(
    models.map(({ id }) => id),
    ['dev/echo', 'dev/slow', 'dev/tools'],
  );
});

test('a second service on the same directory finds the stored data', async () => {
  await using dir = await tempDir();
  {
    await using first = await testService(registry, { data: dir.path });
    await first.bus.call('agents.delete', { agentId: 'oslo' });
  }
  await using second = await testService(registry, { data: dir.path });
  assert.deepEqual(await second.bus.call('agents.list', {}), { agents: ['oslo'] });
});

test('a result that violates the contract fails the call', async () => {
  const broken = defineService({
    contract: contracts.gateway,
    version: '1.0.0',
    settings: [],
    setup: () => ({ 'system.ping': () => JSON.parse('{"pong":"yes"}') as never }),
  });
  await using app = await testService(broken);
  await assert.rejects(app.bus.call('system.ping', {}), { code: 'INTERNAL' });
});

test('names a missing event when the service ends', async () => {
  const app = await testService(registry);
  const waiting = assert.rejects(app.nextEvent('agent:hot_removed'), /the service ended before agent:hot_removed came/);
  await app[Symbol.asyncDispose]();
  await waiting;
});

const agentAdded = { name: 'agent:hot_added', payload: { agentId: 'oslo', timestamp: 1763719200000 } } as const;

/** Emits what `agents.create` declares and `agents.list` does not. */
const emitting = (emit: (options: { ctx: Ctx; agents: Collection<{ agentId: string }> }) => Promise<void> | void) =>
  defineService({
    contract,
    version: '1.0.0',
    settings: [],
    async setup({ store }) {
      const data = await store.open({ agents });
      return {
        'agents.create': async (_params, ctx) => {
          await emit({ ctx, agents: data.agents });
          return { agentId: 'oslo', config: {}, created: true };
        },
        'agents.list': async (_params, ctx) => {
          await emit({ ctx, agents: data.agents });
          return { agents: [] };
        },
      };
    },
  });

const ways: [how: string, emit: Parameters<typeof emitting>[0]][] = [
  ['said by the handler', ({ ctx }) => ctx.emit(agentAdded.name, agentAdded.payload)],
  [
    'said by its write',
    async ({ ctx, agents }) => void (await agents.for(ctx.principal).insert({ agentId: 'oslo' }, { emit: [agentAdded] })),
  ],
];

const caught: Parameters<typeof emitting>[0] = ({ ctx }) => {
  try {
    ctx.emit(agentAdded.name, agentAdded.payload);
  } catch {}
};

test('fails even if the handler catches the error of an undeclared event', async () => {
  await using app = await testService(emitting(caught));
  await assert.rejects(app.bus.call('agents.list', {}), { code: 'INTERNAL' });
});

for (const [mode, emit] of ways) {
  test(`a handler that causes an event which its method does not declare fails, ${mode}`, async () => {
    const lines: string[] = [];
    const log = createLogger({ level: 'error', destination: { write: (line: string) => void lines.push(line) } });
    await using app = await testService(emitting(emit), { log });
    await assert.rejects(app.bus.call('agents.list', {}), { code: 'INTERNAL' });
    assert.match(lines.join(''), /agents\.list emits agent:hot_added, which its contract does not declare/);
    await app.bus.call('agents.create', { name: 'oslo' });
    assert.deepEqual(await app.nextEvent('agent:hot_added'), agentAdded.payload);
  });
}

test('background work after the reply may emit any event', async () => {
  const answered = Promise.withResolvers<void>();
  const emit = ({ ctx }: { ctx: Ctx }): void => void answered.promise.then(() => ctx.emit(agentAdded.name, agentAdded.payload));
  await using app = await testService(emitting(emit));
  await app.bus.call('agents.list', {});
  answered.resolve();
  assert.deepEqual(await app.nextEvent('agent:hot_added'), agentAdded.payload);
});
