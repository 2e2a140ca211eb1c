import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketKey, CONFIG_BUCKET, TokenProjection, TOKENS_BUCKET } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { createSecretReader } from '@switchyard/service-kit';
import { KILLS, openRig } from './service-processes.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const LIMIT = { skip: NATS_OFF, timeout: 60_000 + KILLS * 20_000 };

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
