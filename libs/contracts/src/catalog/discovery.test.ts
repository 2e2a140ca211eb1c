import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVICES } from '../definition/define.ts';
import { isBuilt, listBuiltServices, servicePresence, type Replica } from './discovery.ts';

const replica = (service: string, id: string): Replica => ({
  service,
  replica: id,
  version: '0.1.0',
  startedAt: 1,
  pid: 7,
  host: 'here',
});

test('every service is listed: with its replicas, as down, or as not built yet', () => {
  const listed = servicePresence([replica('secrets', 'a'), replica('secrets', 'b'), replica('memory', 'c'), replica('a-stranger', 'd')]);
  assert.deepEqual(
    listed.map(({ service }) => service),
    [...SERVICES],
  );
  const states = Object.fromEntries(
    listed.map(({ service, state, replicas }) => [service, [state, ...replicas.map((one) => one.replica)]]),
  );
  assert.deepEqual(states['secrets'], ['up', 'a', 'b']);
  assert.deepEqual(states['registry'], ['down']);
  assert.deepEqual(states['gateway'], ['down'], 'one that answers a single method is built');
  for (const service of SERVICES.filter((name) => !isBuilt(name))) assert.deepEqual(states[service], ['unbuilt'], service);
  assert.deepEqual(states['memory'], ['up', 'c'], 'who answers is there, whatever the list says');
});

test('a service that the installation does not include is absent, and its dependencies cannot be left out', () => {
  const states = new Map(servicePresence([replica('scheduler', 'a')], ['memory']).map(({ service, state }) => [service, state]));
  assert.deepEqual(
    ['memory', 'scheduler', 'sessions', 'gateway'].map((name) => states.get(name)),
    ['down', 'up', 'down', 'down'],
  );
  assert.equal(servicePresence([], ['scheduler']).find(({ service }) => service === 'memory')?.state, 'absent');
  assert.equal(servicePresence([], []).find(({ service }) => service === 'memory')?.state, 'down');
});

test('listBuiltServices starts with the dependencies of the gateway and ends with the gateway', () => {
  const built = listBuiltServices();
  assert.deepEqual([...built.slice(0, 3), built.at(-1)], ['secrets', 'registry', 'sessions', 'gateway']);
  assert.deepEqual(built.toSorted(), SERVICES.filter(isBuilt).toSorted());
});
