import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import { bucketKey, CONFIG_BUCKET, REPLICAS_BUCKET, TokenProjection, TOKENS_BUCKET } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { createSecretReader } from '@switchyard/service-kit';
import { KILLS, openRig } from './service-processes.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const LIMIT = { skip: NATS_OFF, timeout: 240_000 + KILLS * 20_000 };

test('publishes the latest version after the registry is killed between a write and its publication', LIMIT, async () => {
  await using rig = await openRig();
  await rig.start('secrets');
  const registry = await rig.start('registry');
  const bus = await rig.as('gateway');
  const told = await bus.kv(CONFIG_BUCKET);
  for (let n = 1; n <= KILLS; n++) {
    await registry.killedBefore('config', () => bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: n }));
    const [head, before] = (await bus.call('config.history', { limit: 2 })).entries;
    assert.equal(head?.parent, before?.sha);
    const entry = JSON.parse(Buffer.from((await told.get('head'))?.value ?? []).toString()) as { sha: string; layer: unknown };
    assert.deepEqual(entry, { sha: head?.sha, layer: { gateway: { maxBatchSize: n } } }, 'whoever starts tells it before it serves');
  }
  const { entries } = await bus.call('config.history', { limit: 1_000 });
  assert.deepEqual(
    entries.map(({ parent }) => parent),
    [...entries.slice(1).map(({ sha }) => sha), undefined],
    'one chain',
  );
  assert.equal(entries.length, KILLS + 1, 'each write is one version');
});

test('keeps exactly one valid secret after secrets is killed between a rotation and its publication', LIMIT, async () => {
  await using rig = await openRig();
  const secrets = await rig.start('secrets');
  const bus = await rig.as('gateway');
  const read = createSecretReader(await rig.as('sessions'), 'sessions');
  const projected = await bus.kv(TOKENS_BUCKET);
  const key = bucketKey('default', 'one');
  const { secret } = await bus.call('tokens.create', { id: 'one', scopes: ['rpc'] });
  const valid = async () => TokenProjection.parse(JSON.parse(Buffer.from((await projected.get(key))?.value ?? []).toString()));
  const hashes = new Set([hashToken(secret)]);
  const { ver } = await valid();
  for (let n = 1; n <= KILLS; n++) {
    await secrets.killedBefore('tokens', () => bus.call('tokens.rotate', { id: 'one' }));
    const token = await valid();
    assert.ok(!hashes.has(token.hash), 'no secret from before is valid');
    hashes.add(token.hash);
    assert.equal(token.ver, ver + n, 'it was rotated once');

    const writer = await rig.as('gateway', `writer-${n}`); // writes are rate-limited per client
    await secrets.killedBefore('secrets', () => writer.call('env.set', { key: 'SERVICE_KEY', value: `value-${n}` }));
    assert.equal(await read('SERVICE_KEY'), `value-${n}`);
  }
  const { tokens } = await bus.call('tokens.list', {});
  assert.equal(tokens.filter(({ id }) => id === 'one').length, 1);
});

test('rolls back a version on which a replica hangs, and records it in the audit log', LIMIT, async () => {
  await using rig = await openRig();
  await rig.start('secrets');
  await rig.start('registry');
  const memory = await rig.start('memory');
  const bus = await rig.as('gateway');
  const { promise: rolledBack, resolve } = Promise.withResolvers<string>();
  bus.on('config:patched', ({ payload: { reason } }) => void (reason !== undefined && resolve(reason)));
  await bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 41 });
  await untilApplied(bus);
  memory.signal('SIGSTOP');
  await bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 42 });
  assert.match(await rolledBack, /^[0-9a-f]{12}: memory.memory-1 did not apply it within 8 s$/);
  const [written, , restored] = (await bus.call('config.history', { limit: 3 })).entries;
  assert.deepEqual([written?.author, written?.restores], ['switchyard', restored?.sha]);
  for (;;) {
    const { records } = await bus.call('audit.read', { after: 0, limit: 100 });
    const record = records.find(({ client }) => client === 'switchyard');
    if (record === undefined) continue;
    assert.deepEqual([record.method, record.outcome, record.target], ['config.rollback', 'success', { sha: written?.sha }]);
    break;
  }
  memory.signal('SIGCONT');
  await untilApplied(bus);
  assert.equal((await bus.call('config.history', { limit: 1 })).entries[0]?.sha, written?.sha);
});

test('keeps a version while a replica that crashed does not report it', LIMIT, async () => {
  await using rig = await openRig();
  await rig.start('secrets');
  await rig.start('registry');
  const memory = await rig.start('memory');
  const bus = await rig.as('gateway');
  const reports = await bus.kv(REPLICAS_BUCKET);
  await untilApplied(bus);
  memory.signal('SIGKILL');
  await bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 42 });
  const [written] = (await bus.call('config.history', { limit: 1 })).entries;
  // The report of the killed process expires after the time limit.
  while ((await reports.get('memory.memory-1')) !== undefined) await bus.flush();
  assert.equal((await bus.call('config.history', { limit: 1 })).entries[0]?.sha, written?.sha);
});

/** Waits until all replicas run the newest version. */
async function untilApplied(bus: Bus): Promise<void> {
  for (;;) {
    const { inForce } = await bus.call('config.history', { limit: 1 });
    if (inForce?.lagging.length === 0) return;
  }
}
