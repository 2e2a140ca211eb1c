import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import { CONFIG_WRITERS, callables } from '@switchyard/contracts';
import { principal, testService, type TestService } from '@switchyard/testkit';
import { registry } from './service.ts';

const ops = principal({ client: 'ops', scopes: ['*'] });

/** `service` calls as another service, which may call `config.write`. */
async function start(): Promise<TestService & { service: Bus }> {
  const app = await testService(registry, { as: ops });
  return { ...app, service: (await app.host.connect('scheduler')).as(ops) };
}

test('config.write persists a section that config.set refuses, as one version with author and method', async () => {
  await using app = await start();
  const refused = { code: 'FAILED_PRECONDITION', details: { reason: 'IMMUTABLE' } };
  await assert.rejects(app.bus.call('config.set', { section: 'channels', key: 'telegram.enabled', value: true }), refused);
  const path = 'channels.telegram.enabled';
  const { commitSha } = await app.service.call('config.write', { as: 'channels.enable', path, value: true });
  assert.equal(app.host.settings.current.channels.telegram.enabled, true);
  const { entries } = await app.bus.call('config.history', { limit: 1 });
  assert.deepEqual(
    entries.map(({ sha, message, author }) => ({ sha, message, author })),
    [{ sha: commitSha, message: `channels.enable ${path}`, author: 'ops' }],
  );
  await app.service.call('config.write', { as: 'channels.disable', path, value: null });
  assert.equal(app.host.settings.current.channels.telegram.enabled, false);
});

test('config.write merges one entry into a list with keys', async () => {
  await using app = await start();
  const path = 'integrations.mcp.servers';
  const write = (name: string) =>
    app.service.call('config.write', { as: 'mcp.connect', path, value: [{ name, transport: 'stdio', command: name }] });
  await write('one');
  await write('two');
  await write('one');
  const { servers } = app.host.settings.current.integrations.mcp;
  assert.deepEqual(servers.map(({ name }) => name).toSorted(), ['one', 'two']);
});

test('config.write changes the heartbeat of an agent and keeps its other settings', async () => {
  await using app = await start();
  const path = 'agents.default.scheduler.heartbeat';
  const write = (value: unknown) => app.service.call('config.write', { as: 'heartbeat.update', path, value });
  await app.bus.call('agents.update', { agentId: 'default', scheduler: { cron: { maxJobs: 7 } } });
  await write({ intervalMs: 600_000 });
  await write({ showOk: true });
  const read = async () => (await app.bus.call('agents.get', { agentId: 'default' })).config['scheduler'] as typeof expected;
  const expected = { cron: { maxJobs: 7 }, heartbeat: { intervalMs: 600_000, showOk: true } };
  const { cron, heartbeat } = await read();
  assert.deepEqual([cron.maxJobs, heartbeat.intervalMs, heartbeat.showOk], [7, 600_000, true]);
  await write(null);
  assert.deepEqual((await read()).heartbeat, {});
  await assert.rejects(write({ intervalMs: 'often' }), { code: 'INVALID_ARGUMENT' });
  const unknown = { as: 'heartbeat.update', path: path.replace('default', 'nowhere'), value: {} } as const;
  await assert.rejects(app.service.call('config.write', unknown), { code: 'NOT_FOUND' });
});

test('config.write rejects paths that the method does not declare', async () => {
  await using app = await start();
  const denied = { code: 'PERMISSION_DENIED', details: { reason: 'PATH_NOT_DECLARED' } };
  for (const [as, path] of [
    ['heartbeat.update', 'agents.default.maxSteps'],
    ['heartbeat.update', 'agents.default.scheduler'],
    ['heartbeat.update', 'security.logging'],
    ['channels.enable', 'channels.telegram.botToken'],
    ['channels.enable', 'channels'],
    ['mcp.connect', 'integrations.mcp'],
    ['mcp.connect', 'channels.telegram.enabled'],
  ] as const)
    await assert.rejects(app.service.call('config.write', { as, path, value: {} }), denied, path);
  const invalid = { as: 'channels.enable', path: 'channels.telegram.enabled', value: 'yes' } as const;
  await assert.rejects(app.service.call('config.write', invalid), { code: 'INVALID_ARGUMENT' });
});

test('config.write of the configuration requires a token of the installation tenant', async () => {
  await using app = await start();
  const other = app.service.as(principal({ tenant: 'other', client: 'ops', scopes: ['*'] }));
  const write = { as: 'channels.enable', path: 'channels.telegram.enabled', value: true } as const;
  await assert.rejects(other.call('config.write', write), { code: 'PERMISSION_DENIED', details: { reason: 'OTHER_TENANT' } });
});

test('the methods that write configuration are audited, emit config:patched and belong to a caller of config.write', () => {
  const { callers } = callables.get('config.write') ?? {};
  for (const [name, { service }] of Object.entries(CONFIG_WRITERS)) {
    const method = callables.get(name);
    assert.equal(method?.service, service, name);
    assert.ok(method.audited !== undefined, name);
    assert.ok(method.emits.includes('config:patched'), name);
    assert.ok(callers?.includes(service), name);
  }
});
