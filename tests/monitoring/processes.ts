import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { listBuiltServices, type ServiceName } from '@switchyard/contracts';
import { startNatsServer, startProcess, tempDir, type NatsServer, type StartedProcess } from '@switchyard/testkit';

const root = fileURLToPath(new URL('../../', import.meta.url));

export const TOKEN = 'operator-chosen-'.padEnd(40, 'x');
/** In start order: the gateway starts last. */
export const BUILT = listBuiltServices();

/** A service in its own process, with its probe addresses. */
export interface Watched {
  process: StartedProcess;
  metrics: number;
  health: number;
}

export interface Cluster extends AsyncDisposable {
  url: string;
  services: Record<ServiceName, Watched>;
  data: string;
  nats: NatsServer;
}

/** Starts every service in a process of its own on NATS, each with two probe ports. */
export async function startCluster(env: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  await using starting = new AsyncDisposableStack();
  const server = await startNatsServer();
  starting.defer(() => server.stop());
  const data = starting.use(await tempDir()).path;
  const services: Partial<Record<ServiceName, Watched>> = {};
  const onThis = { ...env, SWITCHYARD_BUS: server.url, SWITCHYARD_DATA: data };
  for (const service of BUILT) services[service] = await startWatched(starting, service, onThis);
  const whole = services as Record<ServiceName, Watched>;
  const [, url = ''] = await whole.gateway.process.line(/"url":"([^"]+)","msg":"listening"/);
  const started = starting.move();
  return { url, services: whole, data, nats: server, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** Starts a process that ends with the stack. */
export async function startWatched(
  stack: AsyncDisposableStack,
  service: ServiceName,
  env: Readonly<Record<string, string>>,
): Promise<Watched> {
  const process = stack.use(await startOne(service, env));
  const [, ports = '{}'] = await process.line(/^(\{.*"can be watched".*\})$/m);
  return { process, ...(JSON.parse(ports) as { metrics: number; health: number }) };
}

function startOne(service: ServiceName, env: Readonly<Record<string, string>>): Promise<StartedProcess> {
  return startProcess([process.execPath, `${root}services/${service}/src/main.ts`], {
    env: {
      HOME: env['SWITCHYARD_DATA'] ?? '',
      SWITCHYARD_CONFIG: ':',
      SWITCHYARD_PORT: '0',
      SWITCHYARD_TOKEN: TOKEN,
      SWITCHYARD_METRICS_PORT: '0',
      SWITCHYARD_HEALTH_PORT: '0',
      ...env,
    },
    ready: /"msg":"serving"/,
  });
}

/** Reads a path of a process's probe port. */
export async function look(port: number, path: string): Promise<{ status: number; body: string }> {
  const [response] = (await once(request({ host: '127.0.0.1', port, path, agent: false }).end(), 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

/** Polls until the condition holds. Probes publish no event; the timeout of the test is the limit. */
export async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 50));
}
