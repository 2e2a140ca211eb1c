import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { serviceMembers } from './services.ts';

const COMPOSE = join(import.meta.dirname, '../../docker-compose.yml');

const GROUND: Parameters<typeof serviceMembers>[0] = {
  bus: 'nats://127.0.0.1:1',
  store: 'mongodb://127.0.0.1:1',
  cache: 'redis://127.0.0.1:1',
  blobs: 'file:/blobs',
  dir: '/data',
  key: (name) => name,
  token: 'token',
  host: '127.0.0.1',
  gatewayPorts: [1, 2],
  ports: { many: async (count) => Array.from({ length: count }, (_, at) => at + 3) },
  url: 'http://127.0.0.1:1',
  replicas: 2,
  variables: {},
  settings: { origin: () => ({ layer: 'default' }) },
};

test('only gateways get the address of the cache; other services would warn about it at each start', async () => {
  const members = await serviceMembers({ ...GROUND, variables: { SWITCHYARD_CACHE: 'redis://elsewhere' } });
  const told = members.flatMap(({ replica, env }) => (env['SWITCHYARD_CACHE'] === 'redis://127.0.0.1:1' ? [replica] : []));
  assert.deepEqual(told, ['gateway-1', 'gateway-2']);
  assert.equal(members.filter(({ env }) => 'SWITCHYARD_CACHE' in env).length, told.length);
});

test('docker compose gives the address of the cache to gateways only', async () => {
  const { services } = parse(await readFile(COMPOSE, 'utf8'), { merge: true }) as {
    services: Record<string, { environment?: Record<string, string> }>;
  };
  const told = Object.entries(services).filter(([, { environment = {} }]) => Object.keys(environment).some((name) => /_CACHE/.test(name)));
  assert.deepEqual(
    told.map(([name]) => name),
    ['gateway'],
  );
});

test('only the secrets service gets the master key, whether generated or set by the operator', async () => {
  for (const variables of [{}, { SECRETS_MASTER_KEY: 'mine', SECRETS_MASTER_KEY_PREVIOUS: 'before' }]) {
    const told = (await serviceMembers({ ...GROUND, variables })).filter(({ env }) => Object.keys(env).some((name) => /MASTER/.test(name)));
    assert.deepEqual(
      told.map(({ replica }) => replica),
      ['secrets-1', 'secrets-2'],
    );
    assert.equal(told[0]?.env['SECRETS_MASTER_KEY'], variables.SECRETS_MASTER_KEY ?? 'ecrets-master');
  }
});
