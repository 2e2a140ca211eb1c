import { silentLogger } from '@switchyard/telemetry';
import { startNatsServer } from '@switchyard/testkit';
import { busContract } from '../contract/bus.contract.ts';
import { transportContract, type Network } from '../contract/transport.contract.ts';
import { connectNats } from './connect-nats.ts';

async function openNats(): Promise<Network> {
  const server = await startNatsServer();
  return { connect: () => connectNats(server.url, { log: silentLogger() }), stop: () => server.stop() };
}

if (process.env['SWITCHYARD_TEST_NATS'] === 'off') {
  process.stdout.write('SWITCHYARD_TEST_NATS=off: the bus was not tested over NATS\n');
} else {
  transportContract('nats', openNats);
  busContract('nats', openNats);
}
