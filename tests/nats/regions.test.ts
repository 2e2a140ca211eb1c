import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectBus, type Bus } from '@switchyard/bus';
import { contracts, EVENTS_LOG, ServiceError, subjects, TURNS_LOG, type ServiceName } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { freePort, type NatsServer } from '@switchyard/testkit';
import { getPassword, provision, startDeliveredServer } from './house.ts';

const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

test('requested events cross from a region to the hub; frames, calls and keys do not', { skip: OFF, timeout: 60_000 }, async () => {
  await using own = new AsyncDisposableStack();
  const port = await freePort();
  const hub = await start(own, 'regions/hub.conf', { NATS_LEAF_PORT: String(port) });
  const region = await start(own, 'regions/region.conf', { NATS_HUB: `nats-leaf://west:${getPassword('west')}@127.0.0.1:${port}` });
  const join = async (server: NatsServer, service: ServiceName): Promise<Bus> => {
    const credentials = { user: service, password: getPassword(service) };
    const bus = await connectBus(server.url, { log: silentLogger(), service, credentials });
    own.defer(() => bus.drain());
    return bus;
  };
  const [edge, edgeThere, there] = [await join(hub, 'gateway'), await join(region, 'gateway'), await join(region, 'sessions')];
  await Promise.all([edge.log(TURNS_LOG), there.log(TURNS_LOG)]);

  const receivedMessages: string[] = [];
  const heardThere: string[] = [];
  edge.subscribe(subjects.turns, ({ subject }) => void receivedMessages.push(subject));
  edgeThere.subscribe(subjects.turns, ({ subject }) => void heardThere.push(subject));
  const crossed = Promise.withResolvers<string>();
  edge.on('session:created', ({ tenant }) => crossed.resolve(tenant));
  await Promise.all([edge.flush(), edgeThere.flush()]);

  // On one connection frames precede the event, so they would have arrived before it.
  const created = { sessionKey: { tenantId: 'far', userId: 'u', channelId: 'c' }, timestamp: 1 };
  let said = 0;
  let tenant: string | undefined;
  while (tenant === undefined) {
    there.publish(subjects.turn(`turn_${said++}`), Buffer.from('{}'));
    there.as({ tenant: 'far', client: 'c', scopes: [] }).emit('session:created', created);
    await there.flush();
    tenant = await Promise.race([crossed.promise, tick()]);
  }
  assert.equal(tenant, 'far');
  await Promise.all([edge.flush(), edgeThere.flush()]);
  assert.deepEqual(receivedMessages, [], 'nothing of a turn crosses');
  assert.equal(heardThere.length, said, 'and all of it is heard where it runs');
  assert.deepEqual(await (await edge.log(TURNS_LOG)).read(subjects.turn('turn_0')), []);
  const keptItems = await (await edge.log(EVENTS_LOG)).read(subjects.eventInAnyTenant('sessions', 'session:created'));
  assert.ok(keptItems.length > 0, 'the middle keeps what it was told');

  // Calls find no responder in either direction.
  const nobody = (error: unknown): boolean => error instanceof ServiceError && error.details['reason'] === 'NO_RESPONDERS';
  await there.serve(contracts.sessions, { 'session.list': () => ({ sessions: [], total: 0 }) }, { version: '0.0.0' });
  await (
    await join(hub, 'secrets')
  ).serve(contracts.secrets, { 'secrets.resolve': () => ({ value: 'of-the-middle' }) }, { version: '0.0.0' });
  await Promise.all([edge.flush(), there.flush()]);
  await assert.rejects(edge.call('session.list', {}), nobody);
  await assert.rejects(
    there.call('secrets.resolve', { name: 'ANY', to: { service: 'sessions', key: 'A'.repeat(43), nonce: 'n'.repeat(22) } }),
    nobody,
  );
});

async function start(own: AsyncDisposableStack, file: string, env: Record<string, string>): Promise<NatsServer> {
  const server = await startDeliveredServer({ file, env: { ...env, NATS_WEST_PASSWORD: getPassword('west') } });
  own.defer(() => server.stop());
  assert.match(await provision(server), /^0 provisioned/);
  return server;
}

function tick(): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(resolve, 20, undefined));
}
