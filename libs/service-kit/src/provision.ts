import { once } from 'node:events';
import { connectBus, type Bus } from '@switchyard/bus';
import { BUCKETS, LOGS } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { explainRefusal, readBusAccess, type BusAccess } from './bus-access.ts';
import { readEnvironment } from './environment.ts';
import { openKept } from './kept.ts';
import type { Variables } from './read-secret.ts';
import { StartError } from './start-error.ts';

/**
 * Makes every log and bucket that the services use, or brings those there to their definitions. Doing it again changes nothing,
 * so that it can run before every release. It waits for a server that is not there yet; what is wrong is one sentence and exit 1.
 * With `stay` it goes on until a signal ends it, and does it again whenever the bus was away.
 */
export async function provision(env: Variables, { stay = false }: { stay?: boolean } = {}): Promise<void> {
  try {
    const access = await readAccess(env);
    const bus = await connect(access);
    try {
      await makeKept(bus);
      if (stay) await repeat(bus, access);
    } finally {
      await bus.drain();
    }
  } catch (error) {
    process.stderr.write(`cannot provision: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

async function readAccess(env: Variables): Promise<BusAccess> {
  const { bus: url } = await readEnvironment(env);
  if (url === 'memory:') throw new StartError('SWITCHYARD_BUS says memory:, where nothing outlives the process; name a NATS server.');
  return readBusAccess(url, env);
}

function connect(access: BusAccess): Promise<Bus> {
  const log = createLogger({ level: 'warn' });
  return connectBus(access.url, { log, credentials: access.credentials }).catch((error: unknown) =>
    Promise.reject(explainRefusal(error, access)),
  );
}

async function makeKept(bus: Bus): Promise<void> {
  await openKept(bus, undefined);
  process.stdout.write(`provisioned: ${[...LOGS, ...BUCKETS].map(({ name }) => name).join(' ')}\n`);
}

/** A server that was started again has lost what it kept in memory: each time the bus is back, all is made anew, by a connection that has seen none of it. */
async function repeat(bus: Bus, access: BusAccess): Promise<void> {
  async function again(): Promise<void> {
    const fresh = await connect(access);
    await makeKept(fresh).finally(() => fresh.drain());
  }
  const unfollow = bus.onRestored(() => {
    again().catch((error: unknown) => process.stderr.write(`cannot provision again: ${String(error)}\n`));
  });
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT'), bus.closed]);
  unfollow();
}
