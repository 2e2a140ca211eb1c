import { CONFIG_BUCKET, observability as contract } from '@switchyard/contracts';
import { defineService, systemClock, watchReplicas } from '@switchyard/service-kit';
import { diagnosticCollection, hourCollection, positionCollection, recordCollection } from './documents/collections.ts';
import {
  obsBillingByAgent,
  obsBillingByProvider,
  obsBillingBySession,
  obsBillingTotal,
  obsBillingUsage24h,
  obsGetCacheStats,
} from './handlers/obs-billing.ts';
import { obsContextDag, obsContextPipeline } from './handlers/obs-context.ts';
import { obsBundle } from './handlers/obs-bundle.ts';
import { createReadScheduler } from './handlers/read-scheduler.ts';
import { obsReplay } from './handlers/obs-replay.ts';
import { obsDiagnostics } from './handlers/obs-diagnostics.ts';
import { obsExplain } from './handlers/obs-explain.ts';
import { obsFleetHealth } from './handlers/obs-fleet-health.ts';
import { obsReset, obsResetTable } from './handlers/obs-reset.ts';
import { obsTraceSearch } from './handlers/obs-trace-search.ts';
import { obsChannelsAll, obsChannelsGet, obsChannelsStale, obsDeliveryRecent, obsDeliveryStats } from './handlers/obs-traffic.ts';
import { startSnapshots } from './snapshots/publish-snapshots.ts';
import { createPriceReader } from './ingest/price-list.ts';
import { startIngest } from './ingest/ingest.ts';

const INGEST_INTERVAL_MS = 1_000;
const SNAPSHOT_INTERVAL_MS = 300_000;

export interface ObservabilityOptions {
  ingestMs?: number;
  snapshotMs?: number;
}

/** Bills model usage and explains failed turns from the event log. */
export const observability = defineObservability();

/** The service with other intervals, for tests. */
export function defineObservability({ ingestMs = INGEST_INTERVAL_MS, snapshotMs = SNAPSHOT_INTERVAL_MS }: ObservabilityOptions = {}) {
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['observability'],

    async setup({ settings, store, bus, log, own }) {
      const documents = await store.open({
        records: recordCollection,
        hours: hourCollection,
        diagnostics: diagnosticCollection,
        positions: positionCollection,
      });
      const now = (): number => store.now();
      const ingestSettings = (): (typeof settings.current)['observability'] => settings.current.observability;
      own.use(await startIngest({ ...documents, bus, log, settings: ingestSettings, clock: systemClock, now, intervalMs: ingestMs }));
      const deps = { ...documents, now };
      own.use(startSnapshots({ ...deps, bus, log, clock: systemClock, intervalMs: snapshotMs }));
      const configurations = own.use(await watchReplicas(bus, CONFIG_BUCKET));
      const retentionDays = (): number => ingestSettings().persistence.retentionDays;
      const read = createReadScheduler();
      return {
        'obs.billing.total': read(obsBillingTotal(deps)),
        'obs.billing.usage24h': read(obsBillingUsage24h(deps)),
        'obs.billing.byProvider': read(obsBillingByProvider({ ...deps, readPrices: createPriceReader(bus, systemClock) })),
        'obs.billing.byAgent': read(obsBillingByAgent(deps)),
        'obs.billing.bySession': read(obsBillingBySession(deps)),
        'obs.getCacheStats': read(obsGetCacheStats(deps)),
        'obs.trace.search': read(obsTraceSearch(deps)),
        'obs.explain': read(obsExplain(deps)),
        'obs.fleet.health': read(obsFleetHealth({ ...deps, bus, configurations, retentionDays })),
        'obs.diagnostics': read(obsDiagnostics(deps)),
        'obs.context.pipeline': read(obsContextPipeline({ ...deps, bus })),
        'obs.context.dag': read(obsContextDag({ ...deps, bus })),
        'obs.replay': obsReplay({ bus }),
        'obs.bundle': read(obsBundle({ ...deps, bus })),
        'obs.reset': obsReset(deps),
        'obs.reset.table': obsResetTable(deps),
        'obs.channels.all': obsChannelsAll,
        'obs.channels.get': obsChannelsGet,
        'obs.channels.stale': obsChannelsStale,
        'obs.delivery.recent': obsDeliveryRecent,
        'obs.delivery.stats': obsDeliveryStats,
      };
    },
  });
}
