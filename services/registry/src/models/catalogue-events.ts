import { servicePrincipal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Models } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';

interface Given {
  models: Pick<Models, 'catalogue' | 'revision'>;
  settings: Settings<'tenantId' | 'models' | 'providers'>;
  bus: Bus;
  log: Pick<Logger, 'warn'>;
}

/** Emits `model:catalog_loaded` at startup and when a configuration change gives another catalogue. */
export function followCatalogue({ models, settings, bus, log }: Given): AsyncDisposable {
  let told: object | undefined;
  let telling: Promise<void> = Promise.resolve();

  async function tell(): Promise<void> {
    const revision = await models.revision();
    if (revision === told) return;
    told = revision;
    const catalogue = await models.catalogue();
    const providerCount = new Set(catalogue.map(({ provider }) => provider)).size;
    const { tenantId } = settings.current;
    const payload = { providerCount, modelCount: catalogue.length, timestamp: Date.now() };
    bus.as(servicePrincipal('registry', tenantId)).emit('model:catalog_loaded', payload);
  }

  function look(): void {
    telling = telling.then(tell).catch((err: unknown) => {
      log.warn({ err, errorKind: 'internal', hint: 'models work; only the event is missing' }, 'failed to announce the model catalogue');
    });
  }

  look();
  const unwatch = settings.onChange(look);
  return {
    async [Symbol.asyncDispose]() {
      unwatch();
      await telling;
    },
  };
}
