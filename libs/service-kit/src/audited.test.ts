import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { callables, registry, secrets, servicePrincipal, ServiceError, type AuditAct } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { defineService } from './define-service.ts';
import { openHost, type Host } from './host.ts';
import { startService } from './start-service.ts';

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

/** A service with an act and a look, and what was done by it. */
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
    }),
  });
  const running = await startService(service, on);
  t.after(() => running[Symbol.asyncDispose]());
  const bus = (await on.connect('gateway')).as(ops);
  return { bus, done };
}

type Begin = (act: AuditAct) => void;

/** Keeps the record; what it is told in order, and what it does about it. */
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
  await (await on.connect('secrets')).serve(secrets, handlers, { version: '1.0.0' });
}

test('an act is on record before it is done and before it is answered; a look is not', async (t) => {
  const on = await host(t);
  const told: unknown[] = [];
  await keeper(on, told);
  const { bus } = await started(t, on, () => told.push('done'));
  await bus.call('agents.delete', { agentId: 'oslo' });
  told.push('answered');
  await bus.call('agents.list', {});
  assert.deepEqual(told, [['begin', 'agents.delete', 'destructive', { agentId: 'oslo' }], 'done', ['finish', 'success'], 'answered']);
});

test('while nobody keeps the record nothing is done, and the caller may simply try again', async (t) => {
  const on = await host(t);
  const { bus, done } = await started(t, on);
  await assert.rejects(bus.call('agents.delete', { agentId: 'oslo' }), (error: ServiceError) => {
    assert.deepEqual([error.code, error.details['reason'], error.details['retryable']], ['UNAVAILABLE', 'AUDIT_AWAY', true]);
    return true;
  });
  assert.deepEqual(done, []);
  assert.deepEqual(await bus.call('agents.list', {}), { agents: [] });
});

test('what failed is on record as it failed, and the caller hears why', async (t) => {
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

test('what was done and cannot be put on record is not answered as done', async (t) => {
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

test('everything that an admin may do and may not simply do twice is on record, and so is what takes something away', () => {
  const admins = [...callables.values()].filter(({ scope }) => scope === 'admin');
  assert.ok(admins.length > 50);
  for (const { name, idempotent, audited } of admins) assert.ok(idempotent || audited !== undefined, name);
  for (const { name, emits, audited, scope } of callables.values())
    if (emits.includes('audit:event') && scope === 'admin') assert.ok(audited !== undefined, `${name} says that it is on record`);
});
