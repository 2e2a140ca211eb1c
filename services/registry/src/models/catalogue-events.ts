import { servicePrincipal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Models } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';

interface AnnounceCatalogueDeps {
  models: Pick<Models, 'catalogue' | 'revision'>;
  settings: Settings<'tenantId' | 'models' | 'providers'>;
  bus: Bus;
  log: Pick<Logger, 'warn'>;
}

/** Emits `model:catalog_loaded` at startup and when a configuration change gives another catalogue. */
export function announceCatalogue({ models, settings, bus, log }: AnnounceCatalogueDeps): AsyncDisposable {
  let announced: object | undefined;
  let announcing: Promise<void> = Promise.resolve();

  async function announce(): Promise<void> {
    const revision = await models.revision();
    if (revision === announced) return;
    announced = revision;
    const catalogue = await models.catalogue();
    const providerCount = new Set(catalogue.map(({ provider }) => provider)).size;
    const { tenantId } = settings.current;
    const payload = { providerCount, modelCount: catalogue.length, timestamp: Date.now() };
    bus.as(servicePrincipal('registry', tenantId)).emit('model:catalog_loaded', payload);
  }

  function announceChange(): void {
    announcing = announcing.then(announce).catch((err: unknown) => {
      log.warn({ err, errorKind: 'internal', hint: 'models work; only the event is missing' }, 'failed to announce the model catalogue');
    });
  }

  announceChange();
  const unwatch = settings.onChange(announceChange);
  return {
    async [Symbol.asyncDispose]() {
      unwatch();
      await announcing;
    },
  };
}
