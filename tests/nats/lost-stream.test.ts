import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '@switchyard/testkit';
import { provision, startDeliveredServer, startOne } from './house.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const A_WHILE_MS = 4_000;

test('a service whose streams were lost logs once which job creates them', { skip: NATS_OFF, timeout: 90_000 }, async () => {
  await using house = new AsyncDisposableStack();
  const server = await startDeliveredServer();
  house.defer(() => server.stop());
  await provision(server);
  const data = house.use(await tempDir()).path;
  const secrets = house.use(await startOne(server, 'secrets', { data, ready: /"msg":"serving"/ }));
  const before = secrets.output().length;
  await server.restart({ empty: true });
  await secrets.line(/"msg":"reconnected to NATS"/);
  await sleep(A_WHILE_MS);
  const written = secrets.output().slice(before);
  assert.ok(written.split('\n').length < 10, written);
  assert.equal(written.match(/Run deploy\/nats\/provision\.ts/g)?.length, 1, written);
  assert.doesNotMatch(written, /\\n {4}at /, 'a stack says nothing more');

  await provision(server);
  await secrets.line(/"msg":"streams and buckets exist again"/);
  assert.doesNotMatch(secrets.output(), /permissions violation/i);
});
