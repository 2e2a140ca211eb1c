import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceError } from '@switchyard/contracts';
import { principal, testService, type TestService } from '@switchyard/testkit';
import { registry } from './service.ts';

const HOOK_TOKEN = 'h'.repeat(40);

function start(): Promise<TestService> {
  return testService(registry, { as: principal({ client: 'ops', scopes: ['*'] }) });
}

async function history(app: TestService) {
  return (await app.bus.call('config.history', { limit: 1_000 })).entries;
}

async function catchError(call: Promise<unknown>): Promise<Pick<ServiceError, 'code'>> {
  return call.then(
    () => assert.fail('the call was not rejected'),
    (error: unknown) => error as ServiceError,
  );
}

test('config.diff returns a unified diff by section with redacted secrets', async () => {
  await using app = await start();
  const [first] = await history(app);
  assert.deepEqual(await app.bus.call('config.diff', {}), { diff: '', changes: [] });
  await app.bus.call('config.patch', { gateway: { maxBatchSize: 1, wsHeartbeatMs: 2 }, webhooks: { token: HOOK_TOKEN } });
  await app.bus.call('config.patch', { gateway: { maxBatchSize: 3 }, webhooks: { token: 'g'.repeat(40) }, logLevel: 'warn' });
  const gateway = '--- a/gateway\n+++ b/gateway\n@@ -1,2 +1,2 @@\n-maxBatchSize: 1\n+maxBatchSize: 3\n wsHeartbeatMs: 2\n';
  const level = '--- a/logLevel\n+++ b/logLevel\n@@ -0,0 +1,1 @@\n+warn\n';
  const { diff, changes } = await app.bus.call('config.diff', {});
  assert.ok(diff.startsWith(gateway + level), diff);
  assert.match(
    diff.slice((gateway + level).length),
    /^--- a\/webhooks\n.*\n.*\n-token: "\[REDACTED\]"\n\+token: "\[REDACTED\] \(changed\)"\n$/,
  );
  const whole = await app.bus.call('config.diff', { sha: first?.sha.slice(0, 12) });
  assert.match(whole.diff, /^--- a\/gateway\n\+\+\+ b\/gateway\n@@ -0,0 \+1,2 @@\n\+maxBatchSize: 3\n\+wsHeartbeatMs: 2\n/);
  assert.ok(!`${diff}${whole.diff}${JSON.stringify(changes)}`.includes('gggg'));
  assert.deepEqual(changes, [
    { path: 'gateway.maxBatchSize', before: 1, after: 3 },
    { path: 'webhooks.token', before: '[REDACTED]', after: '[REDACTED] (changed)' },
    { path: 'logLevel', after: 'warn' },
  ]);
  for (const sha of ['0'.repeat(64), first?.sha.slice(0, 3) ?? ''])
    assert.equal((await catchError(app.bus.call('config.diff', { sha }))).code, 'NOT_FOUND', sha);
});

test('config.diff compares two versions that are not the newest', async () => {
  await using app = await start();
  for (const maxBatchSize of [1, 2, 3]) await app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: maxBatchSize });
  const [, second, first] = await history(app);
  const expected = [{ path: 'gateway.maxBatchSize', before: 1, after: 2 }];
  assert.deepEqual((await app.bus.call('config.diff', { to: second?.sha ?? '' })).changes, expected);
  const between = await app.bus.call('config.diff', { sha: first?.sha ?? '', to: second?.sha ?? '' });
  assert.deepEqual(between.changes, expected);
  assert.match(between.diff, /-maxBatchSize: 1\n\+maxBatchSize: 2\n/);
});
