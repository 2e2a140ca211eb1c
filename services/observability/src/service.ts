import { observability as contract } from '@switchyard/contracts';
import { createModels } from '@switchyard/models';
import { defineService, systemClock } from '@switchyard/service-kit';
import { diagnosticCollection, hourCollection, positionCollection, recordCollection } from './documents/collections.ts';
import {
  obsBillingByAgent,
  obsBillingByProvider,
  obsBillingBySession,
  obsBillingTotal,
  obsBillingUsage24h,
  obsGetCacheStats,
} from './handlers/obs-billing.ts';
import { startIngest } from './ingest/ingest.ts';

const INGEST_INTERVAL_MS = 1_000;

export interface ObservabilityOptions {
  ingestMs?: number;
}

/** Bills model usage and explains failed turns from the event log. */
export const observability = defineObservability();

/** The service with another interval, for tests. */
export function defineObservability({ ingestMs = INGEST_INTERVAL_MS }: ObservabilityOptions = {}) {
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['observability', 'models', 'providers', 'security'],

    async setup({ settings, store, bus, log, own, env }) {
      const documents = await store.open({
        records: recordCollection,
        hours: hourCollection,
        diagnostics: diagnosticCollection,
        positions: positionCollection,
      });
      // Only prices are read here, so that no key is needed.
      const models = createModels({ settings: () => settings.current, secret: () => Promise.resolve(null), env, log });
      const now = (): number => store.now();
      const ingestSettings = (): (typeof settings.current)['observability'] => settings.current.observability;
      own.use(await startIngest({ ...documents, bus, models, log, settings: ingestSettings, clock: systemClock, intervalMs: ingestMs }));
      const billing = { ...documents, now };
      return {
        'obs.billing.total': obsBillingTotal(billing),
        'obs.billing.usage24h': obsBillingUsage24h(billing),
        'obs.billing.byProvider': obsBillingByProvider(billing),
        'obs.billing.byAgent': obsBillingByAgent(billing),
        'obs.billing.bySession': obsBillingBySession(billing),
        'obs.getCacheStats': obsGetCacheStats(billing),
      };
    },
  });
}
