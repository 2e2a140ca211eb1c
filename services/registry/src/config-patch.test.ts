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
