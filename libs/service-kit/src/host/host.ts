import { connectBus, createMemoryHub, type Bus, type LargePayloads } from '@switchyard/bus';
import type { BlobStore } from '@switchyard/blob';
import { openCache, type Cache } from '@switchyard/cache';
import { ServiceError, servicePrincipal, type ConfigurationPatch, type ServiceName } from '@switchyard/contracts';
import { mintId, randomBase62 } from '@switchyard/security';
import { openStore, type Store, type StoreOptions } from '@switchyard/store';
import { createLogger, logLevels, observe, startTelemetry, type LogOptions, type Logger } from '@switchyard/telemetry';
import { readBlobAccess } from '../variables/blob-access.ts';
import { explainRefusal, readBusAccess, type BusAccess } from '../variables/bus-access.ts';
import { checkedStore } from '../storage/checked-store.ts';
import { readEnvironment, type Environment } from './environment.ts';
import { followLevels } from '../control-state/log-level-overrides.ts';
import { followRestart } from '../control-state/rolling-restart.ts';
import { createHealthRegistry, type HealthRegistry } from '../health/health-registry.ts';
import { openKept } from '../control-state/bus-resources.ts';
import { permissionFlags } from './node-permissions.ts';
import { openProbes } from '../health/probes.ts';
import { largePayloads } from '../storage/large-payloads.ts';
import { openBlobs, type OpenBlobsOptions } from '../storage/process-blobs.ts';
import { reach, type ReachOptions } from './dependency-retry.ts';
import type { Variables } from '../variables/secret-variables.ts';
import { StartError } from '../variables/start-error.ts';
import { openSettings, type ConfigurationSource } from '../settings/configuration-source.ts';
import { feedWatchdog } from './systemd-watchdog.ts';
import { watchEventLoop } from './event-loop-monitor.ts';

/** The process that services run on: what they share, opened once from the environment. */
export interface Host extends AsyncDisposable {
  readonly environment: Environment;
  readonly log: Logger;
  readonly settings: ConfigurationSource;
  readonly health: HealthRegistry;
  /** Where the process can be looked at, by what is served there: `metrics`, `health`. */
  readonly ports: Readonly<Record<string, number>>;
  /** The process's own connection. */
  readonly bus: Bus;
  /** A service's connection: it says which service calls, so no two services share one. Drained with the host at the latest. */
  connect(service: ServiceName): Promise<Bus>;
  /** Aborts when the process is told to end before it has started. */
  readonly signal: AbortSignal | undefined;
  /** A service's documents, where they are kept in files in that one if one is named; whoever opens them closes them. */
  store(service: ServiceName, file?: string): Promise<Store>;
  /** What a service's replicas share and may lose; whoever opens it closes it. One that is away is not waited for. */
  cache(service: ServiceName): Promise<Cache>;
  /** Where the process keeps what is too large for a message: opened when first asked for, closed with the host. */
  blobs(): Promise<BlobStore>;
  /** A sentence for each variable that is set and that nothing in this process has used. */
  unused(): string[];
  /** Names this run of the process: another one, started in its place, is called otherwise. */
  readonly process: string;
  /** Resolves when it is this process's turn to be restarted. */
  readonly restartWished: Promise<void>;
  /** `<service>-<8 digits>`, minted when the process starts, or `SWITCHYARD_REPLICA`. */
  replica(service: ServiceName): string;
}

type Destination = NonNullable<LogOptions['destination']>;

export interface HostOptions {
  env: Variables;
  /** The one service of this process; without, the host is for several. */
  service?: ServiceName;
  /** A log of the caller's own; its level is the caller's too. */
  log?: Logger;
  /** Where the host's log is written otherwise, as the settings may say; it follows `logLevel`. */
  logDestination?: Destination | ((settings: ConfigurationSource['current']) => Destination);
  /** Configuration between the defaults and the files. */
  preset?: ConfigurationPatch;
  /** Checks results and events against their contracts: for tests and development. */
  checkResults?: boolean;
  /** Where metrics are served if the environment does not say, or a free port where that one is taken. */
  metricsPort?: number;
  /** Stops the waiting for dependencies. */
  signal?: AbortSignal;
  /** Starts the process again with flags of Node that its settings demand: called before anything else is opened. */
  restrict?: (flags: readonly string[]) => never;
}

const REPLICA_DIGITS = 8;
/** What the stored layer of the settings is called among the things a process needs. */
const SETTINGS = 'settings';
const NOT_YET = 'not reached yet';
const AWAY = 'not connected';
const UNUSED_CACHE = 'SWITCHYARD_CACHE names a server, but no service of this process keeps anything in a cache.';

/** Opens everything the environment names. What is down is waited for; what is wrong is a `StartError` or a `ServiceError`. */
export async function openHost(options: HostOptions): Promise<Host> {
  await using opening = new AsyncDisposableStack();
  const environment = await readEnvironment(options.env);
  const access = await readBusAccess(environment.bus, options.env);
  const blobAccess = await readBlobAccess(options.env, environment.data);
  const settings = opening.use(await openSettings(environment, options.preset === undefined ? {} : { preset: options.preset }));
  const flags = options.restrict && permissionFlags(environment, settings);
  if (flags) options.restrict?.(flags);
  const log = options.log ?? openLog(settings, options.logDestination, opening);
  const telemetry = await startTelemetry(options.env, { service: options.service ?? 'switchyard', log });
  opening.defer(() => telemetry.shutdown());

  const health = createHealthRegistry();
  health.set('bus', false, NOT_YET);
  health.set(SETTINGS, false, NOT_YET);
  const probes = opening.use(await openProbes({ probes: environment.probes, metricsPort: options.metricsPort, health, log }));
  const waiting = { health, log, signal: options.signal };
  const blobs = opening.use(await openBlobs(blobAccess, { log, reach: blobReacher(waiting) }));
  const suffix = randomBase62(REPLICA_DIGITS);
  const replica = (service: string): string => environment.replica ?? `${service}-${suffix}`;
  const { tenantId } = settings.current;
  const large = largePayloads(() => blobs.store(), log);
  const connect = connector(access, { ...options, log, replica, tenantId, large });
  log.info({ adapter: environment.bus.split(':')[0] }, 'connecting to the bus');
  const bus = await reach(() => connect(options.service), { ...waiting, dependency: 'bus' });
  const buses = new Set([bus]);
  opening.defer(async () => void (await Promise.all([...buses].map((one) => one.drain()))));
  await reach(() => openKept(bus, options.service), { ...waiting, dependency: 'bus' });
  health.probe('bus', () => (bus.connected() ? undefined : AWAY));
  await settings.follow(bus, log);
  opening.use(await followLevels(bus, log));
  const process = mintId('process');
  const restart = opening.use(await followRestart(bus, process, log));
  if (options.service !== undefined) health.set(options.service, false, 'starting');
  health.set(SETTINGS, true);
  opening.use(watchEventLoop({ settings, log }));
  opening.use(feedWatchdog({ env: options.env, settings, log }));
  opening.defer(observe('switchyard.config.revision', {}, () => settings.revision));
  warnOfIneffective(settings, log);

  const stores = new Set<() => boolean>();
  let cacheAsked = false;
  const opened = opening.move();
  return {
    environment,
    log,
    settings,
    health,
    ports: probes.ports,
    bus,
    signal: options.signal,
    process,
    restartWished: restart.wished,
    replica,
    async connect(service) {
      if (service === options.service) return bus;
      const own = await reach(() => connect(service), { ...waiting, dependency: 'bus' });
      buses.add(own);
      return own;
    },
    async store(service, file) {
      const strict = options.checkResults === true;
      const open = () =>
        openServiceStore(environment.store, {
          service,
          ...(file === undefined ? {} : { file }),
          strict,
          log: log.child({ service, module: 'store' }),
        });
      const store = await reach(open, { ...waiting, dependency: 'store' });
      if (store.connected) stores.add(store.connected);
      if (stores.size > 0) health.probe('store', () => ([...stores].every((connected) => connected()) ? undefined : AWAY));
      return strict ? checkedStore(store) : store;
    },
    cache(service) {
      cacheAsked = true;
      return openServiceCache(environment.cache, service, log);
    },
    blobs: () => blobs.store(),
    unused: () => (cacheAsked || environment.cache === 'memory:' ? [] : [UNUSED_CACHE]),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** What waiting cannot cure names the variable; a server that is away is waited for. */
async function openServiceStore(url: string, options: StoreOptions): Promise<Store> {
  try {
    return await openStore(url, options);
  } catch (cause) {
    if (!(cause instanceof ServiceError) || cause.code !== 'FAILED_PRECONDITION') throw cause;
    throw new StartError(`SWITCHYARD_STORE cannot be used: ${cause.message}.`, { cause });
  }
}

async function openServiceCache(url: string, service: ServiceName, log: Logger): Promise<Cache> {
  try {
    return await openCache(url, { service, log: log.child({ service, module: 'cache' }) });
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    throw new StartError(`SWITCHYARD_CACHE cannot be used: ${cause.message}.`, { cause });
  }
}

/** That a store is away, or does not take us, stands in the readiness until it is reached. */
function blobReacher({ signal, ...waiting }: Omit<ReachOptions, 'dependency'>): OpenBlobsOptions['reach'] {
  const dependency = 'blobs';
  return async (open, ending) => {
    const given = [signal, ending].filter((one) => one !== undefined);
    try {
      return await reach(open, { ...waiting, dependency, signal: AbortSignal.any(given) });
    } catch (error) {
      waiting.health.set(dependency, false, error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
}

type ConnectorOptions = Pick<HostOptions, 'checkResults'> & {
  log: Logger;
  replica: (service: string) => string;
  tenantId: string;
  large: LargePayloads;
};

/** All connections of a process to `memory:` meet in one hub. What a service does on its own it does for the configured tenant. */
function connector(
  access: BusAccess,
  { log, replica, tenantId, large, checkResults = false }: ConnectorOptions,
): (service?: ServiceName) => Promise<Bus> {
  const { url, credentials } = access;
  const hub = url === 'memory:' ? createMemoryHub() : undefined;
  return (service) =>
    connectBus(url, {
      log,
      credentials,
      checkResults,
      large,
      replica: replica(service ?? 'host'),
      principal: servicePrincipal(service ?? 'bus', tenantId),
      ...(service === undefined ? {} : { service }),
      ...(hub === undefined ? {} : { hub }),
    }).catch((error: unknown) => Promise.reject(explainRefusal(error, access)));
}

/** What is accepted and not in force is named: once, at the start. */
function warnOfIneffective(settings: ConfigurationSource, log: Logger): void {
  const found = settings.notInForce();
  if (found.length > 0)
    log.warn({ settings: found.map(({ path, from }) => `${path} (${from})`) }, 'settings are set that nothing reads yet');
}

/** Follows `logLevel` and `daemon.logLevels`, so that asking for more detail needs no restart. */
function openLog(settings: ConfigurationSource, given: HostOptions['logDestination'], owned: AsyncDisposableStack): Logger {
  const destination = typeof given === 'function' ? given(settings.current) : given;
  const view = owned.use(settings.watch(['logLevel', 'daemon']));
  const { logRedaction: redaction, auditLog: audit } = settings.current.security;
  const log = createLogger({ ...(destination === undefined ? {} : { destination }), redaction, audit });
  const take = ({ logLevel, daemon }: typeof view.current): void => logLevels(log).configure({ all: logLevel, modules: daemon.logLevels });
  view.onChange(take);
  take(view.current);
  if (!redaction) log.warn('security.logRedaction is false: what looks like a secret is written to the log; only known values are not');
  return log;
}
