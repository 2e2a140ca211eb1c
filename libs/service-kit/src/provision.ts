import { connectBus } from '@switchyard/bus';
import { BUCKETS, LOGS } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { explainRefusal, readBusAccess } from './bus-access.ts';
import { readEnvironment } from './environment.ts';
import { openKept } from './kept.ts';
import type { Variables } from './read-secret.ts';
import { StartError } from './start-error.ts';

/**
 * Makes every log and bucket that the services use, or brings those there to their definitions. Doing it again changes nothing,
 * so that it can run before every release. It waits for a server that is not there yet; what is wrong is one sentence and exit 1.
 */
export async function provision(env: Variables): Promise<void> {
  try {
    await provisionAll(env);
  } catch (error) {
    process.stderr.write(`cannot provision: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

async function provisionAll(env: Variables): Promise<void> {
  const { bus: url } = await readEnvironment(env);
  if (url === 'memory:') throw new StartError('SWITCHYARD_BUS says memory:, where nothing outlives the process; name a NATS server.');
  const access = await readBusAccess(url, env);
  const log = createLogger({ level: 'warn' });
  const bus = await connectBus(url, { log, credentials: access.credentials }).catch((error: unknown) =>
    Promise.reject(explainRefusal(error, access)),
  );
  try {
    await openKept(bus, undefined);
    process.stdout.write(`provisioned: ${[...LOGS, ...BUCKETS].map(({ name }) => name).join(' ')}\n`);
  } finally {
    await bus.drain();
  }
}
