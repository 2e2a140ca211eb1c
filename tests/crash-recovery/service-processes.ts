import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connectBus, type Bus } from '@switchyard/bus';
import type { ServiceName } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { principal, startNatsServer, startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';

const root = fileURLToPath(new URL('../../', import.meta.url));
const DYING = new URL('./crash-preload.ts', import.meta.url).href;
const PATIENCE_MS = 60_000;

/** Number of kills per point. */
export const KILLS = Number(process.env['SWITCHYARD_TEST_KILLS'] ?? 2);

export interface Rig extends AsyncDisposable {
  /** Connects a caller with every scope that calls as this service. */
  as(service: ServiceName, client?: string): Promise<Bus>;
  /** Starts a service in a process of its own. */
  start(service: ServiceName): Promise<Victim>;
}

export interface Victim {
  /** Runs `work`, kills the process before its next write to the bucket, and starts a replacement. */
  killedBefore(bucket: string, work: () => Promise<unknown>): Promise<void>;
  /** Sends a signal to the process and starts no replacement. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
}

/** Starts NATS; services run in processes that can be killed at a write. */
export async function openRig(): Promise<Rig> {
  const stack = new AsyncDisposableStack();
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const { path } = stack.use(await tempDir());
  const masterKey = randomBytes(32).toString('hex');
  const running = new Set<StartedProcess>();
  stack.defer(async () => void (await Promise.all([...running].map((one) => one.end('SIGKILL')))));

  async function launch(service: ServiceName, order: string): Promise<StartedProcess> {
    const env = {
      HOME: path,
      SWITCHYARD_DATA: path,
      SWITCHYARD_CONFIG: ':',
      SWITCHYARD_BUS: server.url,
      SWITCHYARD_REPLICA: `${service}-1`,
      SWITCHYARD_TOKEN: 'operator-chosen-'.padEnd(40, 'x'),
      SECRETS_MASTER_KEY: masterKey,
      NODE_COMPILE_CACHE: `${root}node_modules/.cache/node`,
      DIE_ORDER: order,
    };
    const command = [process.execPath, '--import', DYING, `${root}services/${service}/src/main.ts`];
    const started = await startProcess(command, { env, ready: /"msg":"serving"/, timeoutMs: PATIENCE_MS });
    running.add(started);
    return started;
  }

  return {
    async as(service, client = 'ops') {
      const bus = await connectBus(server.url, { service, replica: `${service}-of-the-test`, log: silentLogger() });
      stack.defer(() => bus.drain());
      return bus.as(principal({ client, scopes: ['*'] }));
    },
    async start(service) {
      const order = `${path}/${service}.order`;
      let now = await launch(service, order);
      return {
        async killedBefore(bucket, work) {
          writeFileSync(order, bucket);
          const outcome = work().then(
            () => 'it was answered',
            () => 'it failed',
          );
          const ended = await Promise.race([now.exited, outcome.then(() => now.exited)]);
          if (ended.signal !== 'SIGKILL' || existsSync(order)) throw new Error(`${service} was not killed there: ${now.output()}`);
          running.delete(now);
          now = await launch(service, order);
        },
        signal: (signal) => void process.kill(now.pid, signal),
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
