import { resolve } from 'node:path';
import { defineGateway, describeExposure } from '@switchyard/gateway';
import { servicePrincipal } from '@switchyard/contracts';
import {
  banner,
  claimDataDirectory,
  commandHere,
  describeProvider,
  leaveNote,
  openRunFile,
  withoutCredentials,
  type Served,
} from '@switchyard/launcher';
import { defineSecrets, secrets } from '@switchyard/secrets';
import {
  openHost,
  readEnvironment,
  runProcess,
  startAgainWith,
  startService,
  StartError,
  type Host,
  type Starting,
  type Variables,
} from '@switchyard/service-kit';
import { firstToken } from './first-token.ts';
import { reexec } from './reexec.ts';
import { resolveLogFile, openLogFile } from './log-file.ts';
import { writeEventFiles } from './event-files.ts';
import { services } from './services.ts';

const VERSION = '0.1.0';
const START_COMMAND = 'make start';
const NOTICE_DELAY_MS = 1_000;
/** Default port of OpenTelemetry's Prometheus exporter. */
const METRICS_PORT = 9464;
const GATEWAY_DISABLED = 'gateway.enabled is false, so no client could connect. Remove the setting, or start the services separately.';

/** Runs all services in one process until a signal. A failed start prints one sentence and exits with code 1. */
export async function runEmbedded(env: Variables): Promise<void> {
  let port = 0;
  const onListening = (url: string): void => void (port = Number(new URL(url).port));
  const start = (starting: Starting): Promise<Host> => startEmbedded(env, { ...starting, onListening });
  await runProcess('switchyard', start, { again: () => reexec(env, port) });
}

interface StartingEmbedded extends Starting {
  onListening: (url: string) => void;
}

async function startEmbedded(env: Variables, { stack, signal, onListening }: StartingEmbedded): Promise<Host> {
  const started = performance.now();
  const environment = await readEnvironment(env);
  const { data, token: environmentToken, bus } = environment;
  stack.use(claimDataDirectory(data));
  leaveNote(environment);
  const host = stack.use(
    await printNoticeIfSlow(
      bus,
      openHost({
        env,
        logDestination: (settings) => openLogFile(settings, data),
        metricsPort: METRICS_PORT,
        signal,
        restrict: startAgainWith,
      }),
    ),
  );

  if (!host.settings.current.gateway.enabled) throw new StartError(GATEWAY_DISABLED);

  let url = '';
  let token: string | undefined;
  stack.use(writeEventFiles({ bus: await host.connect('gateway'), settings: host.settings.current, data }));
  const secretsService = defineSecrets({
    ...(bus === 'memory:' ? { envFile: resolve(data, '.env') } : {}),
    async firstToken(tokens) {
      token = await firstToken({ dir: data, tenant: host.settings.current.tenantId, environmentToken }, tokens);
    },
  });
  const gateway = defineGateway({ onListening: (address) => onListening((url = address)) });
  for (const service of services) stack.use(await startService(service === secrets ? secretsService : service, host));
  stack.use(await startService(gateway, host).catch((error: unknown) => Promise.reject(explainListening(error, host))));

  const { port } = new URL(url);
  stack.use(openRunFile(data)).write({
    url,
    processes: [
      {
        service: 'embedded',
        replica: host.replica('gateway'),
        pid: process.pid,
        ports: { http: Number(port), ...host.ports },
        log: resolveLogFile(host.settings.current, data),
      },
    ],
  });
  const served: Served = {
    version: VERSION,
    how: 'all services in one process',
    again: START_COMMAND,
    url,
    bus,
    data,
    services: [gateway, ...services.toReversed()].map(({ contract }) => contract.service),
    seconds: (performance.now() - started) / 1_000,
    metrics: metricsUrl(host),
    provider: await describeModels(host),
    token,
    terminal: process.stdout.isTTY,
    warning: describeExposure(host.settings.current.gateway),
    notInForce: host.settings.notInForce(),
    command: commandHere(data),
  };
  process.stdout.write(banner(served));
  return host;
}

async function describeModels({ bus, settings }: Host): Promise<string> {
  const { models } = await bus.as(servicePrincipal('gateway', settings.current.tenantId)).call('models.visible', {});
  return describeProvider(models, START_COMMAND);
}

/** Prints a notice if the start waits for an external bus. */
async function printNoticeIfSlow(bus: string, opening: Promise<Host>): Promise<Host> {
  const printNotice = (): boolean =>
    process.stderr.write(`switchyard waits for the bus at ${withoutCredentials(bus)}; press Ctrl-C to stop\n`);
  const timer = bus === 'memory:' ? undefined : setTimeout(printNotice, NOTICE_DELAY_MS);
  try {
    return await opening;
  } finally {
    clearTimeout(timer);
  }
}

function metricsUrl({ ports, environment }: Host): string | undefined {
  const { host } = environment.probes;
  return ports['metrics'] === undefined ? undefined : `http://${host.includes(':') ? `[${host}]` : host}:${ports['metrics']}/metrics`;
}

function explainListening(error: unknown, { settings }: Host): unknown {
  const { host, port } = settings.current.gateway;
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new StartError(`port ${port} on ${host} is in use. Take any free one: SWITCHYARD_PORT=0 make start`, { cause: error });
    case 'EACCES':
      return new StartError(`port ${port} on ${host} is not permitted for this user. Use any free port: SWITCHYARD_PORT=0 make start`, {
        cause: error,
      });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartError(`${host} is not an address of this machine. Listen locally: SWITCHYARD_HOST=127.0.0.1 make start`, {
        cause: error,
      });
    default:
      return error;
  }
}
