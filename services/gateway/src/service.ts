import type { Handlers } from '@switchyard/bus';
import { gateway as contract, TOKENS_BUCKET } from '@switchyard/contracts';
import { defineService, StartError, type ServiceDefinition } from '@switchyard/service-kit';
import { routes } from './routes/routes.ts';
import { openGateway } from './gateway.ts';

const VERSION = '0.1.0';
const NO_TLS = 'gateway.tls is set, but the gateway speaks plain HTTP: let a proxy in front of it end TLS, and remove the key.';

/** For other services and tools; clients get the same answer from the edge itself. */
const handlers: Handlers<typeof contract> = { 'system.ping': () => ({ pong: true, ts: Date.now() }) };

export interface GatewayHooks {
  /** Told the real address once connections are accepted. */
  onListening?: (url: string) => void;
}

/** The edge as a service. Whoever starts it in its own process learns from `onListening` where it listens. */
export function defineGateway({ onListening }: GatewayHooks = {}): ServiceDefinition<typeof contract, 'gateway'> {
  return defineService({
    contract,
    version: VERSION,
    settings: ['gateway'],

    async setup({ settings, bus, log, own, health, revisions }) {
      const { enabled, host, port, tls } = settings.current.gateway;
      if (!enabled) {
        log.warn('gateway.enabled is false, so nothing listens');
        return handlers;
      }
      if (tls) throw new StartError(NO_TLS);
      const onRevision = (revision: number): void => revisions.applied(TOKENS_BUCKET.name, revision);
      const gateway = await openGateway({ bus, settings, log, health, version: VERSION, routes, host, port, onRevision });
      own.defer(() => gateway.close());
      log.info({ url: gateway.url }, 'listening');
      onListening?.(gateway.url);
      return handlers;
    },
  });
}

/** The edge on its own. */
export const gateway = defineGateway();
