import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigurationPatch, ServiceError } from '@switchyard/contracts';
import { principal, testService, type TestService, type TestServiceOptions } from '@switchyard/testkit';
import { registry } from './service.ts';

function start(options: TestServiceOptions): Promise<TestService> {
  return testService(registry, { as: principal({ client: 'ops', scopes: ['*'] }), ...options });
}

async function catchError(call: Promise<unknown>): Promise<ServiceError> {
  return call.then(
    () => assert.fail('the call was not rejected'),
    (error: unknown) => error as ServiceError,
  );
}

test('config.patch merges lists by id, null removes a stored value, and a new catch-all is named', async () => {
  await using app = await start({ settings: { webhooks: { mappings: [{ id: 'file', match: { path: 'file' } }] } } });
  const getMappings = () => app.host.settings.current.webhooks.mappings.map(({ id, agentId, match }) => [id, agentId, match?.path]);
  await app.bus.call('config.patch', { webhooks: { mappings: [{ id: 'ci', match: { path: 'ci' }, agentId: 'oslo' }] } });
  await app.bus.call('config.patch', { webhooks: { mappings: [{ id: 'ci', agentId: 'rome' }] } });
  assert.deepEqual(getMappings(), [
    ['file', undefined, 'file'],
    ['ci', 'rome', 'ci'],
  ]);
  const change = { webhooks: { mappings: [{ id: 'ci', match: null }] } } as unknown as ConfigurationPatch;
  const named = ['webhooks.mappings: the mapping ci matches every path and source now. Set its match.path or match.source.'];
  const checked = await app.bus.call('config.patch', { ...change, dryRun: true });
  assert.deepEqual([checked.warnings, (await app.bus.call('config.patch', change)).warnings], [named, named]);
  assert.equal((await app.bus.call('config.patch', { webhooks: { maxBodyBytes: 1_000 } })).warnings, undefined);
  await app.bus.call('config.patch', { webhooks: { mappings: null } } as unknown as ConfigurationPatch);
  assert.deepEqual(getMappings(), [['file', undefined, 'file']]);
});

test('null for a value that is not stored is refused', async () => {
  await using app = await start({ settings: { gateway: { rateLimit: { maxRequests: 5 } } } });
  const set = { section: 'gateway', key: 'rateLimit.maxRequests', value: null };
  const patch = { gateway: { rateLimit: { maxRequests: null } } } as unknown as ConfigurationPatch;
  for (const call of [app.bus.call('config.set', set), app.bus.call('config.patch', patch)]) {
    const { code, message, details } = await catchError(call);
    assert.deepEqual([code, details.reason], ['FAILED_PRECONDITION', 'NOT_STORED']);
    assert.match(message, /^gateway\.rateLimit\.maxRequests has no stored value/);
  }
  assert.equal((await app.bus.call('config.history', {})).entries.length, 1);
});

test('null removes a stored name that contains a dot, by patch and by set', async () => {
  await using app = await start({});
  const add = () => app.bus.call('config.patch', { providers: { entries: { 'lab.1': { type: 'openai' } } } });
  const names = () => Object.keys(app.host.settings.current.providers.entries);
  await add();
  assert.deepEqual(names(), ['lab.1']);
  await app.bus.call('config.patch', { providers: { entries: { 'lab.1': null } } } as unknown as ConfigurationPatch);
  assert.deepEqual(names(), []);
  await add();
  await app.bus.call('config.set', { section: 'providers', key: 'entries.lab.1', value: null });
  assert.deepEqual(names(), []);
});

test('a catch-all of a file is named when a write uncovers it, not when another mapping changes', async () => {
  await using app = await start({ settings: { webhooks: { mappings: [{ id: 'all' }, { agentId: 'bern' }] } } });
  const isCatchAll = (name: string) =>
    `webhooks.mappings: the mapping ${name} matches every path and source now. Set its match.path or match.source.`;
  const patched = await app.bus.call('config.patch', { webhooks: { mappings: [{ id: 'ci', match: { path: 'ci' } }] } });
  assert.equal(patched.warnings, undefined);
  await app.bus.call('config.set', { section: 'webhooks', key: 'mappings', value: [{ id: 'ci', match: { path: 'ci' } }] });
  const uncovered = await app.bus.call('config.set', { section: 'webhooks', key: 'mappings', value: null });
  assert.deepEqual(uncovered.warnings, [isCatchAll('all'), isCatchAll('number 2')]);
});

test('config.patch merges MCP servers by name and model aliases by alias', async () => {
  await using app = await start({});
  await app.bus.call('config.patch', {
    integrations: {
      mcp: {
        servers: [
          { name: 'one', transport: 'http', url: 'https://one.example' },
          { name: 'two', transport: 'http', url: 'https://two.example' },
        ],
      },
    },
    models: { aliases: [{ alias: 'fast', provider: 'p', modelId: 'a' }] },
  });
  const change = {
    integrations: { mcp: { servers: [{ name: 'two', enabled: false }] } },
    models: { aliases: [{ alias: 'slow', provider: 'p', modelId: 'b' }] },
  };
  await app.bus.call('config.patch', change as unknown as ConfigurationPatch);
  const { integrations, models } = app.host.settings.current;
  assert.deepEqual(
    integrations.mcp.servers.map(({ name, url, enabled }) => [name, url, enabled]),
    [
      ['one', 'https://one.example', true],
      ['two', 'https://two.example', false],
    ],
  );
  assert.deepEqual(
    models.aliases.map(({ alias }) => alias),
    ['fast', 'slow'],
  );
});

test('a patch of a list refuses to copy a secret from a file into the store', async () => {
  const server = { name: 'one', transport: 'http', url: 'https://one.example' } as const;
  const settings = { integrations: { mcp: { servers: [{ ...server, headers: { authorization: 'literal secret' } }] } } };
  await using app = await start({ settings });
  const patch = (change: object) =>
    app.bus.call('config.patch', { integrations: { mcp: { servers: [change] } } } as unknown as ConfigurationPatch);
  for (const change of [
    { name: 'two', transport: 'http', url: 'https://two.example' },
    { name: 'one', enabled: false },
  ]) {
    const { message, details } = await catchError(patch(change));
    assert.equal(details.reason, 'SECRET_IN_FILE');
    assert.match(message, /^integrations\.mcp\.servers: the entry one in .* contains a secret/);
    assert.ok(!message.includes('literal secret'));
  }
  assert.equal((await app.bus.call('config.history', {})).entries.length, 1);
  await patch({ name: 'one', headers: { authorization: 'another' } });
  assert.ok(!JSON.stringify(app.host.settings.stored).includes('literal secret'));
});
