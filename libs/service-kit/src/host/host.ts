import { connectBus, createMemoryHub, type Bus, type LargePayloads, type MemoryHub } from '@switchyard/bus';
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
import { emitErrors } from './error-events.ts';
import { systemClock } from '../scheduling/clock.ts';

/** The process that services run on, with the resources that they share. */
export interface Host extends AsyncDisposable {
  readonly environment: Environment;
  readonly log: Logger;
  readonly settings: ConfigurationSource;
  readonly health: HealthRegistry;
  /** Ports of the probe servers: `metrics`, `health`. */
  readonly ports: Readonly<Record<string, number>>;
  /** The connection of the process itself. */
  readonly bus: Bus;
  /** Opens the connection of a service. It identifies the calling service, so services do not share one. Drained with the host at the latest. */
  connect(service: ServiceName): Promise<Bus>;
  /** Aborts when the process receives a signal before it has started. */
  readonly signal: AbortSignal | undefined;
  /** Opens the store of a service, with `file` as its database file if the store keeps documents in files. The caller closes it. */
  store(service: ServiceName, file?: string): Promise<Store>;
  /** Opens the cache that the replicas of a service share. The caller closes it. Does not wait for an unreachable server. */
  cache(service: ServiceName): Promise<Cache>;
  /** Opens the blob store of the process on first use. It is closed with the host. */
  blobs(): Promise<BlobStore>;
  /** Returns a sentence for each configured variable that nothing in this process uses. */
  unused(): string[];
  /** Id of this run of the process; a restarted process has another id. */
  readonly process: string;
  /** Resolves when a rolling restart reaches this process. */
  readonly restartWished: Promise<void>;
  /** Returns `SWITCHYARD_REPLICA`, or `<service>-<8 digits>` with digits generated at the start. */
  replica(service: ServiceName): string;
}

type Destination = NonNullable<LogOptions['destination']>;

export interface HostOptions {
  env: Variables;
  /** The only service of this process; absent for a host with several services. */
  service?: ServiceName;
  /** Logger of the caller, who also sets its level. */
  log?: Logger;
  /** Destination of the host's own log, which may depend on the settings. Its level follows `logLevel`. */
  logDestination?: Destination | ((settings: ConfigurationSource['current']) => Destination);
  /** Configuration that overrides the defaults and is overridden by the files. */
  preset?: ConfigurationPatch;
  /** Checks results and events against their contracts. For tests and development. */
  checkResults?: boolean;
  /** For a `memory:` bus: the hub of its connections. Default: a new hub. */
  hub?: MemoryHub;
  /** Default port of the metrics server; a free port if it is in use. */
  metricsPort?: number;
  /** Aborts the wait for dependencies. */
  signal?: AbortSignal;
  /** Restarts the process with the Node flags that its settings require. Called before anything else is opened. */
  restrict?: (flags: readonly string[]) => never;
}

const REPLICA_DIGITS = 8;
/** Dependency name of the stored configuration. */
const SETTINGS = 'settings';
const NOT_YET = 'not reached yet';
const AWAY = 'not connected';
const UNUSED_CACHE = 'SWITCHYARD_CACHE is set, but no service of this process uses a cache.';

/** Opens all resources that the environment names. Waits for unreachable ones; throws a `StartError` or `ServiceError` for invalid ones. */
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
  opening.use(watchEventLoop({ settings, log, emit: (metrics) => bus.emit('observability:metrics', metrics) }));
  opening.use(emitErrors({ bus, log, clock: systemClock }));
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

/** Turns a permanent error into a `StartError` that names the variable. The caller retries other errors. */
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

/** Reports an unreachable or rejecting blob store as not ready until it is reachable. */
function blobReacher({ signal, ...waiting }: Omit<ReachOptions, 'dependency'>): OpenBlobsOptions['reach'] {
  const dependency = 'blobs';
  return async (open, ending) => {
    const inputs = [signal, ending].filter((one) => one !== undefined);
    try {
      return await reach(open, { ...waiting, dependency, signal: AbortSignal.any(inputs) });
    } catch (error) {
      waiting.health.set(dependency, false, error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
}

type ConnectorOptions = Pick<HostOptions, 'checkResults' | 'hub'> & {
  log: Logger;
  replica: (service: string) => string;
  tenantId: string;
  large: LargePayloads;
};

/** Returns a function that connects a service. All `memory:` connections of a process share one hub. Services act for the configured tenant by default. */
function connector(
  access: BusAccess,
  { log, replica, tenantId, large, checkResults = false, hub: ownHub }: ConnectorOptions,
): (service?: ServiceName) => Promise<Bus> {
  const { url, credentials } = access;
  const hub = url === 'memory:' ? (ownHub ?? createMemoryHub()) : undefined;
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

/** Logs configured settings without effect, once at the start. */
function warnOfIneffective(settings: ConfigurationSource, log: Logger): void {
  const matches = settings.notInForce();
  if (matches.length > 0)
    log.warn({ settings: matches.map(({ path, from }) => `${path} (${from})`) }, 'no service uses these settings yet');
}

/** Creates the logger. Its levels follow `logLevel` and `daemon.logLevels` without a restart. */
function openLog(settings: ConfigurationSource, given: HostOptions['logDestination'], owned: AsyncDisposableStack): Logger {
  const destination = typeof given === 'function' ? given(settings.current) : given;
  const view = owned.use(settings.watch(['logLevel', 'daemon']));
  const { logRedaction: redaction, auditLog: audit } = settings.current.security;
  const log = createLogger({ ...(destination === undefined ? {} : { destination }), redaction, audit });
  const take = ({ logLevel, daemon }: typeof view.current): void => logLevels(log).configure({ all: logLevel, modules: daemon.logLevels });
  view.onChange(take);
  take(view.current);
  if (!redaction) log.warn('security.logRedaction is false: the log hides known secret values only, not text that looks like a secret');
  return log;
}
