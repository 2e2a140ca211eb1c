import type { Tell } from './failover.ts';

/** Which providers fail for more than one agent, or again and again. */
export interface ProviderHealth {
  /** It is asked last while this holds: for a while after each failure, so that it is tried again then. */
  isDegraded(provider: string): boolean;
  succeeded(provider: string, tell: Tell): void;
  failed(provider: string, agent: string, tell: Tell): void;
}

interface Health {
  failures: { at: number; agent: string }[];
  degraded: boolean;
}

const WINDOW_MS = 60_000;
const FAILING_AGENTS = 2;
const FAILURES_IN_A_ROW = 3;
const MOST_KEPT = 100;

export function createProviderHealth(now: () => number): ProviderHealth {
  const failing = new Map<string, Health>();
  return {
    isDegraded(provider) {
      const health = failing.get(provider);
      return health?.degraded === true && now() - (health.failures.at(-1)?.at ?? 0) < WINDOW_MS;
    },
    succeeded(provider, tell) {
      const health = failing.get(provider);
      if (!health) return;
      failing.delete(provider);
      if (health.degraded) tell({ name: 'provider:recovered', payload: { provider, timestamp: Date.now() } });
    },
    failed(provider, agent, tell) {
      const health = failing.get(provider) ?? { failures: [], degraded: false };
      failing.set(provider, health);
      const recent = health.failures.filter(({ at }) => now() - at < WINDOW_MS).slice(1 - MOST_KEPT);
      health.failures = [...recent, { at: now(), agent }];
      const failingAgents = new Set(health.failures.map((failure) => failure.agent)).size;
      if (health.degraded || (failingAgents < FAILING_AGENTS && health.failures.length < FAILURES_IN_A_ROW)) return;
      health.degraded = true;
      tell({ name: 'provider:degraded', payload: { provider, failingAgents, timestamp: Date.now() } });
    },
  };
}
