import { once } from 'node:events';
import { connectBus, type Bus } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { explainRefusal, readBusAccess, type BusAccess } from '../variables/bus-access.ts';
import { readEnvironment } from './environment.ts';
import { makeKept, type Spread } from '../control-state/bus-resources.ts';
import type { Variables } from '../variables/secret-variables.ts';
import { StartError } from '../variables/start-error.ts';

/**
 * Makes every log and bucket that the services use, or brings those there to their definitions. Doing it again changes nothing,
 * so that it can run before every release. It waits for a server that is not there yet; what is wrong is one sentence and exit 1.
 * With `stay` it goes on until a signal ends it, and does it again whenever the bus was away.
 */
export async function provision(env: Variables, { stay = false }: { stay?: boolean } = {}): Promise<void> {
  try {
    const job = await readJob(env);
    const bus = await connect(job.access);
    try {
      await make(bus, job);
      if (stay) await repeat(bus, job);
    } finally {
      await bus.drain();
    }
  } catch (error) {
    process.stderr.write(`cannot provision: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

interface Job {
  access: BusAccess;
  spread: Spread;
}

async function readJob(env: Variables): Promise<Job> {
  const { bus: url, turnStreams: streams, busCopies: copies } = await readEnvironment(env);
  if (url === 'memory:') throw new StartError('SWITCHYARD_BUS says memory:, where nothing outlives the process; name a NATS server.');
  return { access: await readBusAccess(url, env), spread: { streams, copies } };
}

function connect(access: BusAccess): Promise<Bus> {
  const log = createLogger({ level: 'warn' });
  return connectBus(access.url, { log, credentials: access.credentials }).catch((error: unknown) =>
    Promise.reject(explainRefusal(error, access)),
  );
}

async function make(bus: Bus, { spread }: Job): Promise<void> {
  const names = await makeKept(bus, spread).catch(explainCopies);
  process.stdout.write(`provisioned: ${names.join(' ')}\n`);
}

function explainCopies(cause: unknown): never {
  if (!(cause instanceof ServiceError) || cause.details.reason !== 'TOO_FEW_SERVERS') throw cause;
  throw new StartError(`${cause.message} Look at SWITCHYARD_BUS_COPIES.`, { cause });
}

/** A server that was started again has lost what it kept in memory: each time the bus is back, all is made anew, by a connection that has seen none of it. */
async function repeat(bus: Bus, job: Job): Promise<void> {
  async function again(): Promise<void> {
    const fresh = await connect(job.access);
    await make(fresh, job).finally(() => fresh.drain());
  }
  const unfollow = bus.onRestored(() => {
    again().catch((error: unknown) => process.stderr.write(`cannot provision again: ${String(error)}\n`));
  });
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT'), bus.closed]);
  unfollow();
}
