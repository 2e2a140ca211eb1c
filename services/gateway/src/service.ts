import { fileURLToPath } from 'node:url';
import type { Handlers } from '@switchyard/bus';
import { gateway as contract, TOKENS_BUCKET, type Sections } from '@switchyard/contracts';
import { defineService, type ServiceDefinition } from '@switchyard/service-kit';
import { describeExposure } from './auth/network-exposure.ts';
import { REQUEST_DRAIN_TIMEOUT_MS } from './http/drain.ts';
import { routes } from './routes.ts';
import type { EdgeSections } from './http/edge.ts';
import { openGateway, type DrainTimes } from './gateway.ts';
import { VERSION } from './http/version.ts';

/** The share of the shutdown timeout for draining, and the same share for running requests. The rest is for closing. */
const DRAIN_SHARE = 1 / 3;

/** The output of `services/dashboard/build.ts`. */
const BUNDLED_DASHBOARD = fileURLToPath(new URL('../../dashboard/dist/', import.meta.url));

/** For other services and tools. Clients get the same result from the local method. */
const handlers: Handlers<typeof contract> = { 'system.ping': () => ({ pong: true, ts: Date.now() }) };

export interface GatewayHooks {
  /** Called with the actual URL once connections are accepted. */
  onListening?: (url: string) => void;
}

/** Defines the gateway as a service. */
export function defineGateway({ onListening }: GatewayHooks = {}): ServiceDefinition<typeof contract, EdgeSections | 'daemon'> {
  return defineService({
    contract,
    version: VERSION,
    settings: ['gateway', 'webhooks', 'tenantId', 'daemon'],

    async setup({ settings, bus, cache, blobs, log, own, health, revisions, configuration }) {
      const { enabled, host, port, tls } = settings.current.gateway;
      if (!enabled) {
        log.warn('gateway.enabled is false; the gateway does not listen');
        return handlers;
      }
      const onRevision = (revision: number): void => revisions.applied(TOKENS_BUCKET.name, revision);
      const shared = await cache();
      const gateway = await openGateway({
        bus,
        cache: shared,
        blobs,
        settings,
        log,
        health,
        version: VERSION,
        routes,
        host,
        port,
        tls,
        bundledDashboard: BUNDLED_DASHBOARD,
        isDashboardDeclared: () => configuration.origin('gateway.web.path').layer !== 'stored',
        onRevision,
      });
      own.defer(() => gateway.close(getDrainTimes(settings.current)));
      log.info({ url: gateway.url }, 'listening');
      const exposure = describeExposure(settings.current.gateway);
      if (exposure !== undefined) log.warn({ host }, exposure);
      onListening?.(gateway.url);
      return handlers;
    },
  });
}

/** The gateway in a process of its own. */
export const gateway = defineGateway();

function getDrainTimes({ gateway, daemon }: Pick<Sections, 'gateway' | 'daemon'>): DrainTimes {
  const longest = daemon.shutdownTimeoutMs * DRAIN_SHARE;
  return { delayMs: Math.min(gateway.drainDelayMs, longest), finishMs: Math.min(REQUEST_DRAIN_TIMEOUT_MS, longest) };
}
