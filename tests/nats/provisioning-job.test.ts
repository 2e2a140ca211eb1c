import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busEnv, provision, startDeliveredServer, startProvisioner } from './house.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

test('a service with a wrong password names the variable and exits', { skip: NATS_OFF, timeout: 60_000 }, async () => {
  const server = await startDeliveredServer();
  try {
    const env = { SWITCHYARD_BUS: server.url, SWITCHYARD_BUS_USER: 'provisioner', SWITCHYARD_BUS_PASSWORD: 'wrong' };
    assert.match(await provision(server, env), /^1 cannot provision: .* Check SWITCHYARD_BUS_USER with SWITCHYARD_BUS_PASSWORD\.\n$/);
  } finally {
    await server.stop();
  }
});

test('the provisioning job rejects more stream replicas than servers', { skip: NATS_OFF, timeout: 60_000 }, async () => {
  const server = await startDeliveredServer();
  try {
    const text = await provision(server, { ...busEnv(server, 'provisioner'), SWITCHYARD_BUS_COPIES: '3' });
    assert.match(text, /^1 cannot provision: The bus cannot keep 3 copies of the stream TURNS_0: .* Check SWITCHYARD_BUS_COPIES\.\n$/);
    assert.match(await provision(server), /^0 provisioned: TURNS_0 /);
  } finally {
    await server.stop();
  }
});

test('a resident provisioning job recreates streams that a restarted server lost', { skip: NATS_OFF, timeout: 60_000 }, async () => {
  const server = await startDeliveredServer();
  try {
    await using job = await startProvisioner(server, '--stay');
    await job.line(/^provisioned: TURNS_0/m);
    await server.restart();
    await job.line(/^provisioned: [^]*^provisioned: TURNS_0/m);
    assert.deepEqual(await job.end('SIGTERM'), { code: 0, signal: null });
  } finally {
    await server.stop();
  }
});
