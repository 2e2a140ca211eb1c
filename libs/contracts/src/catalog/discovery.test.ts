import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVICES } from '../definition/define.ts';
import { servicePresence, type Replica } from './discovery.ts';

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
  assert.deepEqual(states['graph'], ['unbuilt']);
  assert.deepEqual(states['memory'], ['up', 'c'], 'who answers is there, whatever the list says');
});
