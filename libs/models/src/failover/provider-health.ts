import type { PublishEvent } from './failover.ts';

/** Tracks providers that fail for several agents or repeatedly. */
export interface ProviderHealth {
  /** Returns whether the provider is degraded. Degraded providers are tried last until a window has passed since their last failure. */
  isDegraded(provider: string): boolean;
  recordSuccess(provider: string, publish: PublishEvent): void;
  recordFailure(provider: string, agent: string, publish: PublishEvent): void;
}

interface Health {
  failures: { at: number; agent: string }[];
  degraded: boolean;
}

const WINDOW_MS = 60_000;
const MIN_FAILING_AGENTS = 2;
const MIN_FAILURES = 3;
const MAX_TRACKED_FAILURES = 100;

export function createProviderHealth(now: () => number): ProviderHealth {
  const healthByProvider = new Map<string, Health>();
  return {
    isDegraded(provider) {
      const health = healthByProvider.get(provider);
      return health?.degraded === true && now() - (health.failures.at(-1)?.at ?? 0) < WINDOW_MS;
    },
    recordSuccess(provider, publish) {
      const health = healthByProvider.get(provider);
      if (!health) return;
      healthByProvider.delete(provider);
      if (health.degraded) publish({ name: 'provider:recovered', payload: { provider, timestamp: Date.now() } });
    },
    recordFailure(provider, agent, publish) {
      const health = healthByProvider.get(provider) ?? { failures: [], degraded: false };
      healthByProvider.set(provider, health);
      const recent = health.failures.filter(({ at }) => now() - at < WINDOW_MS).slice(1 - MAX_TRACKED_FAILURES);
      health.failures = [...recent, { at: now(), agent }];
      const failingAgents = new Set(health.failures.map((failure) => failure.agent)).size;
      if (health.degraded || (failingAgents < MIN_FAILING_AGENTS && health.failures.length < MIN_FAILURES)) return;
      health.degraded = true;
      publish({ name: 'provider:degraded', payload: { provider, failingAgents, timestamp: Date.now() } });
    },
  };
}
