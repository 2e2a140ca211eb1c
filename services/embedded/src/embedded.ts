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
import { takeOwnPlace } from './reexec.ts';
import { logFileOf, openLogFile } from './log-file.ts';
import { keepRecords } from './run-record.ts';
import { services } from './services.ts';

const VERSION = '0.1.0';
const AGAIN = 'make start';
const PATIENCE_MS = 1_000;
/** Where OpenTelemetry's exporters for Prometheus listen. */
const METRICS_PORT = 9464;
const NO_EDGE = 'gateway.enabled is false, so nobody could reach what runs here. Remove the key, or start the services one by one.';

/** All services in one process, until a signal ends it. What cannot start says why in one sentence and exits 1. */
export async function runEmbedded(env: Variables): Promise<void> {
  let port = 0;
  const onListening = (url: string): void => void (port = Number(new URL(url).port));
  const start = (given: Starting): Promise<Host> => startEmbedded(env, { ...given, onListening });
  await runProcess('switchyard', start, { again: () => takeOwnPlace(env, port) });
}

interface StartingEmbedded extends Starting {
  onListening: (url: string) => void;
}

async function startEmbedded(env: Variables, { stack, signal, onListening }: StartingEmbedded): Promise<Host> {
  const started = performance.now();
  const environment = await readEnvironment(env);
  const { data, token: given, bus } = environment;
  stack.use(claimDataDirectory(data));
  leaveNote(environment);
  const host = stack.use(
    await sayIfSlow(
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

  if (!host.settings.current.gateway.enabled) throw new StartError(NO_EDGE);

  let url = '';
  let token: string | undefined;
  stack.use(keepRecords({ bus: await host.connect('gateway'), settings: host.settings.current, data }));
  const ours = defineSecrets({
    ...(bus === 'memory:' ? { envFile: resolve(data, '.env') } : {}),
    async firstToken(tokens) {
      token = await firstToken({ dir: data, tenant: host.settings.current.tenantId, given }, tokens);
    },
  });
  const edge = defineGateway({ onListening: (address) => onListening((url = address)) });
  for (const service of services) stack.use(await startService(service === secrets ? ours : service, host));
  stack.use(await startService(edge, host).catch((error: unknown) => Promise.reject(explainListening(error, host))));

  const { port } = new URL(url);
  stack.use(openRunFile(data)).write({
    url,
    processes: [
      {
        service: 'embedded',
        replica: host.replica('gateway'),
        pid: process.pid,
        ports: { http: Number(port), ...host.ports },
        log: logFileOf(host.settings.current, data),
      },
    ],
  });
  const served: Served = {
    version: VERSION,
    how: 'all services in one process',
    again: AGAIN,
    url,
    bus,
    data,
    services: [edge, ...services.toReversed()].map(({ contract }) => contract.service),
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
  return describeProvider(models, AGAIN);
}

/** A bus that is down is waited for, and whoever started this should not have to guess. */
async function sayIfSlow(bus: string, opening: Promise<Host>): Promise<Host> {
  const say = (): boolean => process.stderr.write(`switchyard waits for the bus at ${withoutCredentials(bus)}; Ctrl-C ends it\n`);
  const timer = bus === 'memory:' ? undefined : setTimeout(say, PATIENCE_MS);
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
      return new StartError(`port ${port} on ${host} is not for this user. Take any free one: SWITCHYARD_PORT=0 make start`, {
        cause: error,
      });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartError(`${host} is no address of this machine. Listen on this machine alone: SWITCHYARD_HOST=127.0.0.1 make start`, {
        cause: error,
      });
    default:
      return error;
  }
}
