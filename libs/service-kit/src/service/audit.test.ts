import assert from 'node:assert/strict';
import type { Handlers } from '@switchyard/bus';
import { test, type TestContext } from 'node:test';
import { callables, registry, secrets, servicePrincipal, ServiceError, type AuditAct } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { defineService } from './service-definition.ts';
import { openHost, type Host } from '../host/host.ts';
import { startService } from './service-start.ts';

const ops = { ...servicePrincipal('gateway'), client: 'ops' };

async function host(t: TestContext): Promise<Host> {
  const data = await tempDir();
  const opened = await openHost({ env: { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':' }, log: silentLogger() });
  t.after(async () => {
    await opened[Symbol.asyncDispose]();
    await data[Symbol.asyncDispose]();
  });
  return opened;
}

/** A service with an audited method and a read method, and its executed calls. */
async function started(t: TestContext, on: Host, act: () => void = () => undefined) {
  const done: string[] = [];
  const service = defineService({
    contract: registry,
    version: '1.0.0',
    settings: [],
    setup: () => ({
      'agents.delete': ({ agentId }) => {
        done.push(agentId);
        act();
        return { agentId, deleted: true };
      },
      'agents.list': () => ({ agents: [] }),
      'agents.get': async ({ agentId }) => {
        throw new ServiceError('NOT_FOUND', `no agent ${agentId}`);
      },
    }),
  });
  const running = await startService(service, on);
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= Promise.resolve(running[Symbol.asyncDispose]()));
  t.after(stop);
  const bus = (await on.connect('gateway')).as(ops);
  return { bus, done, stop };
}

type Begin = (act: AuditAct) => void;

/** A fake audit service that records its calls in order and can fail. */
async function keeper(on: Host, told: unknown[], { begin, finish }: { begin?: Begin; finish?: () => void } = {}): Promise<void> {
  const handlers = {
    'audit.begin': (act: AuditAct) => {
      told.push(['begin', act.method, act.kind, act.target]);
      begin?.(act);
      return { begun: true as const };
    },
    'audit.finish': ({ outcome, code }: { outcome: string; code?: string | undefined }) => {
      told.push(['finish', outcome, ...(code === undefined ? [] : [code])]);
      finish?.();
      return { recorded: true as const };
    },
  };
  const looked: NonNullable<Handlers<typeof secrets>['audit.looked']> = ({ looks }, { principal }) => {
    for (const { method, target, outcome, code, count } of looks)
      told.push(['looked', principal.client, method, target, code === undefined ? outcome : `${outcome} ${code}`, count]);
    return { recorded: true };
  };
  await (await on.connect('secrets')).serve(secrets, { ...handlers, 'audit.looked': looked }, { version: '1.0.0' });
}

test('records a call before the handler runs and before the reply; a read access is not awaited', async (t) => {
  const on = await host(t);
  const told: unknown[] = [];
  await keeper(on, told);
  const { bus } = await started(t, on, () => told.push('done'));
  await bus.call('agents.delete', { agentId: 'oslo' });
  told.push('answered');
  await bus.call('agents.list', {});
  assert.deepEqual(told, [['begin', 'agents.delete', 'destructive', { agentId: 'oslo' }], 'done', ['finish', 'success'], 'answered']);
});

test('replies to read accesses at once and records them later with a count per target and outcome', async (t) => {
  const on = await host(t);
  const told: unknown[] = [];
  await keeper(on, told);
  const { bus, stop } = await started(t, on);
  for (let n = 0; n < 3; n++) await bus.call('agents.list', {});
  for (const agentId of ['oslo', 'oslo', 'bergen']) await assert.rejects(bus.call('agents.get', { agentId }), { code: 'NOT_FOUND' });
  await bus.as({ ...ops, client: 'another' }).call('agents.list', {});
  assert.deepEqual(told, [], 'nobody has waited for it');
  await stop();
  assert.deepEqual(told, [
    ['looked', 'ops', 'agents.list', {}, 'success', 3],
    ['looked', 'ops', 'agents.get', { agentId: 'oslo' }, 'failure NOT_FOUND', 2],
    ['looked', 'ops', 'agents.get', { agentId: 'bergen' }, 'failure NOT_FOUND', 1],
    ['looked', 'another', 'agents.list', {}, 'success', 1],
  ]);
});

test('rejects an audited call as retryable while the audit log is unavailable', async (t) => {
  const on = await host(t);
  const { bus, done } = await started(t, on);
  await assert.rejects(bus.call('agents.delete', { agentId: 'oslo' }), (error: ServiceError) => {
    assert.deepEqual([error.code, error.details['reason'], error.details['retryable']], ['UNAVAILABLE', 'AUDIT_AWAY', true]);
    return true;
  });
  assert.deepEqual(done, []);
  assert.deepEqual(await bus.call('agents.list', {}), { agents: [] });
});

test('records the error of a failed call and returns it to the caller', async (t) => {
  const on = await host(t);
  const told: unknown[] = [];
  await keeper(on, told);
  let thrown: unknown = new ServiceError('PERMISSION_DENIED', 'not yours');
  const { bus } = await started(t, on, () => {
    throw thrown;
  });
  await assert.rejects(bus.call('agents.delete', { agentId: 'oslo' }), { code: 'PERMISSION_DENIED' });
  thrown = new Error('a bug');
  await assert.rejects(bus.call('agents.delete', { agentId: 'oslo' }), { code: 'INTERNAL' });
  assert.deepEqual(told.slice(1, 4), [['finish', 'denied', 'PERMISSION_DENIED'], told[0], ['finish', 'failure', 'INTERNAL']]);
});

test('rejects a call whose outcome could not be recorded', async (t) => {
  const on = await host(t);
  const told: unknown[] = [];
  await keeper(on, told, {
    finish: () => {
      throw new ServiceError('UNAVAILABLE', 'the database is away');
    },
  });
  const { bus, done } = await started(t, on);
  await assert.rejects(bus.call('agents.delete', { agentId: 'oslo' }), (error: ServiceError) => {
    assert.deepEqual([error.code, error.details['reason'], error.details['retryable']], ['UNAVAILABLE', 'AUDIT_LATE', false]);
    return true;
  });
  assert.deepEqual([done, told.length], [['oslo'], 4]);
});

test('all non-idempotent and removing admin methods are audited', () => {
  const admins = [...callables.values()].filter(({ scope }) => scope === 'admin');
  assert.ok(admins.length > 50);
  for (const { name, idempotent, audited, looked } of admins) {
    assert.ok(idempotent || audited !== undefined, name);
    assert.equal(looked, audited === undefined, `${name} is on record in one way`);
  }
  for (const { name, emits, audited, scope } of callables.values())
    if (emits.includes('audit:event') && scope === 'admin') assert.ok(audited !== undefined, `${name} says that it is on record`);
});
