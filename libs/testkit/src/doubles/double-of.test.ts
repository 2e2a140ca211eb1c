import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEgress } from '@switchyard/egress';
import { sections, ServiceError } from '@switchyard/contracts';
import { openHost } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '../processes/temp-dir.ts';
import { principal } from '../services/principal.ts';
import { doubleOf } from './double-of.ts';

async function openTestHost(path: string) {
  const env = { SWITCHYARD_DATA: path, SWITCHYARD_CONFIG: ':', SWITCHYARD_HOST: '127.0.0.1', SWITCHYARD_PORT: '0' };
  return openHost({ env, log: silentLogger(), checkResults: true });
}

test('doubleOf.turns accepts each order once, ends it and wakes the service that ordered it', async () => {
  await using data = await tempDir();
  await using host = await openTestHost(data.path);
  const turns = await doubleOf.turns(host);
  const bus = (await host.connect('scheduler')).as(principal());
  const woken = Promise.withResolvers<void>();
  bus.onWake('scheduler', () => woken.resolve());
  const order = {
    message: 'hello',
    agentId: 'default',
    session: { channelId: 'cron' },
    idempotencyKey: 'job@1',
    kind: 'cron' as const,
    origin: { service: 'scheduler' as const, ref: 'job' },
    history: { mode: 'fresh' as const },
  };
  const { turnId } = await bus.call('turns.order', order);
  assert.equal((await bus.call('turns.order', order)).turnId, turnId);
  assert.deepEqual([(await turns.next()).turnId, turns.orders.size], [turnId, 1]);
  turns.end(turnId, { steps: 2 });
  await woken.promise;
  const { turns: ends, missing } = await bus.call('turns.ends', { turnIds: [turnId, `turn_${'9'.repeat(22)}`] });
  assert.deepEqual([ends[0]?.state, ends[0]?.steps, missing.length], ['done', 2, 1]);
  turns.reject(new ServiceError('RESOURCE_EXHAUSTED', 'full'));
  await assert.rejects(bus.call('turns.order', { ...order, idempotencyKey: 'job@2' }), { code: 'RESOURCE_EXHAUSTED' });
});

test('doubleOf.files and doubleOf.deliveries answer as their contracts say', async () => {
  await using data = await tempDir();
  await using host = await openTestHost(data.path);
  const [files, deliveries] = [await doubleOf.files(host), await doubleOf.deliveries(host)];
  files.set('notes.txt', 'one\ntwo\nthree');
  const bus = (await host.connect('scheduler')).as(principal());
  assert.deepEqual(await bus.call('files.read', { path: 'notes.txt', offset: 1, limit: 1 }), { content: 'two', sizeBytes: 13, lines: 3 });
  await assert.rejects(bus.call('files.read', { path: 'none' }), { code: 'NOT_FOUND' });
  const message = { agentId: 'default', text: 'hello', idempotencyKey: 'k' };
  assert.deepEqual(await bus.call('deliver.send', message), await bus.call('deliver.send', message));
  assert.deepEqual(
    deliveries.map(({ text }) => text),
    ['hello'],
  );
});

test('doubleOf.outside is reached by host names through egress', async () => {
  await using outside = await doubleOf.outside({ 'example.com': (_, response) => void response.end('the page') });
  const settings = sections.security.parse(undefined);
  await using egress = createEgress({ settings: () => settings });
  assert.equal(await (await egress.fetch('http://example.com/page')).text(), 'the page');
  assert.deepEqual(outside.requests, ['GET example.com/page']);
});
