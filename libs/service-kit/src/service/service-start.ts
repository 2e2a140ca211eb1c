import type { ParamsDecryption } from '@switchyard/bus';
import type { Cache } from '@switchyard/cache';
import { CONFIG_BUCKET, type Contract, type ServiceName } from '@switchyard/contracts';
import type { Store } from '@switchyard/store';
import { observe } from '@switchyard/telemetry';
import { audited } from '../audit/audited-handlers.ts';
import { claimStore, type ClaimStore } from '../storage/store-claim.ts';
import type { ServiceDefinition } from './service-definition.ts';
import type { Host } from '../host/host.ts';
import { createLooks } from '../audit/read-access-log.ts';
import { lazyStore } from '../storage/lazy-store.ts';
import { reportRevisions } from '../control-state/replica-reports.ts';
import type { SectionName } from '../settings/settings.ts';
import { placeStoreFile } from '../storage/store-file.ts';

/** Share of the shutdown timeout for running calls; the rest is for releasing leases and closing. */
const FINISHING_SHARE = 2 / 3;
/** URL scheme of stores that keep documents in files. */
const IN_FILES = 'sqlite:';

/**
 * Starts one service on a host, which it may share with other services. Disposing drains it: it stops accepting calls, finishes
 * running calls, disposes its own resources, then closes its store and its connection. If the setup fails, all steps so far are undone.
 */
export async function startService<C extends Contract, K extends SectionName>(
  definition: ServiceDefinition<C, K>,
  host: Host,
): Promise<AsyncDisposable> {
  const { contract, version } = definition;
  const { service } = contract;
  const log = host.log.child({ service });
  const replica = host.replica(service);
  host.health.set(service, false, 'starting');

  await using starting = new AsyncDisposableStack();
  starting.defer(() => host.health.set(service, false, 'stopped'));
  const bus = await host.connect(service);
  if (bus !== host.bus) starting.defer(() => bus.drain());
  const report = starting.use(await reportRevisions(bus, service, replica, log));
  const tellProcess = (): void => report.runsIn({ id: host.process, ready: () => host.health.readiness().ready });
  starting.defer(host.health.follow(tellProcess));
  tellProcess();
  const health = host.health.reporter(service);
  const store = getDocuments(host, definition, starting, { bus, service, report, health, log, signal: host.signal });
  const cache = getCache(host, starting, service);
  starting.defer(host.settings.onRevision((revision) => report.applied(CONFIG_BUCKET.name, revision)));
  report.applied(CONFIG_BUCKET.name, host.settings.revision);
  starting.defer(host.settings.onRefusal((refusal) => report.refused(CONFIG_BUCKET.name, refusal)));
  if (host.settings.refusal) report.refused(CONFIG_BUCKET.name, host.settings.refusal);
  starting.defer(observe('switchyard.service.info', { service, replica, version }, () => 1));
  const settings = starting.use(host.settings.watch(definition.settings));
  await store.publishTo((event) => bus.record(event));

  const own = starting.use(new AsyncDisposableStack());
  const { variables: env, data } = host.environment;
  let paramsDecryption: ParamsDecryption | undefined;
  const handlers = await definition.setup({
    settings,
    store,
    cache,
    blobs: () => host.blobs(),
    bus,
    log,
    own,
    replica,
    data,
    env,
    health,
    revisions: report,
    setParamsDecryption: (decryption) => void (paramsDecryption = decryption),
    configuration: host.settings,
  });
  const looks = starting.use(createLooks({ bus, service, replica, log }));
  const served = await bus.serve(contract, audited(handlers, { bus, service, replica, looks }), {
    version,
    replica,
    log,
    readiness: () => host.health.readiness(),
    paramsDecryption,
  });
  starting.defer(() => served.drain(host.settings.current.daemon.shutdownTimeoutMs * FINISHING_SHARE));
  starting.defer(() => looks.tell()); // while the secrets service, which may be this one, still replies
  starting.defer(() => host.health.set(service, false, 'draining'));

  host.health.set(service, true);
  log.info({ version, replica, methods: served.names.length }, 'serving');
  return starting.move();
}

/** Opens the store with the first collection and claims the database before the first read. Closes it before the replica report is removed. */
function getDocuments<K extends SectionName>(
  host: Host,
  { storeFile }: Pick<ServiceDefinition<Contract, K>, 'storeFile'>,
  starting: AsyncDisposableStack,
  claim: ClaimStore,
): Store {
  const claimed = starting.use(new DisposableStack());
  const store = lazyStore(async () => {
    const { store, data } = host.environment;
    const inFiles = storeFile !== undefined && store.startsWith(IN_FILES);
    const place = inFiles
      ? { service: claim.service, file: storeFile(host.settings.current), dir: store.slice(IN_FILES.length), data }
      : undefined;
    const opened = await host.store(claim.service, place && claimed.use(placeStoreFile(place)).file);
    try {
      claimed.use(await claimStore(opened.identity, claim));
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  });
  starting.defer(() => store.close());
  return store;
}

/** Opens the cache on first use. Closes it after all resources that may use it. */
function getCache(host: Host, starting: AsyncDisposableStack, service: ServiceName): () => Promise<Cache> {
  let opening: Promise<Cache> | undefined;
  starting.defer(async () => (await opening?.catch(() => undefined))?.close());
  return () => (opening ??= host.cache(service));
}
