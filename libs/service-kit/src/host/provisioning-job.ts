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
 * Creates all logs and buckets of the services, or updates them to their definitions. Idempotent, so it can run before each release.
 * Waits for an unreachable server; prints other errors in one sentence and exits 1. With `stay` it runs until a signal and repeats the
 * job after each reconnect.
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
  if (url === 'memory:')
    throw new StartError('SWITCHYARD_BUS is memory:, which needs no provisioning. Set it to the address of a NATS server.');
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
  throw new StartError(`${cause.message} Check SWITCHYARD_BUS_COPIES.`, { cause });
}

/** Repeats the job after each reconnect, because a restarted server has lost its memory-backed buckets. Uses a new connection without cached handles. */
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
