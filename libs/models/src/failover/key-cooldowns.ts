import type { AgentConfig } from '@switchyard/contracts';
import type { Tell } from './failover.ts';

type CooldownPolicy = AgentConfig['modelFailover'];

export interface NamedKey {
  provider: string;
  keyName: string;
}

/** Keys that were refused rest, longer each time; meanwhile another one is used, where there is one. */
export interface KeyCooldowns {
  rests(key: NamedKey): boolean;
  /** The one that answered last of these, if any did. */
  lastGood(provider: string): string | undefined;
  succeeded(key: NamedKey): void;
  failed(key: NamedKey, policy: CooldownPolicy, tell: Tell): void;
  forgetAll(): void;
}

export function createKeyCooldowns(now: () => number): KeyCooldowns {
  const resting = new Map<string, { failureCount: number; until: number }>();
  const good = new Map<string, string>();
  const rests = (key: NamedKey): boolean => (resting.get(nameOf(key))?.until ?? 0) > now();
  return {
    rests,
    lastGood: (provider) => good.get(provider),
    succeeded(key) {
      resting.delete(nameOf(key));
      good.set(key.provider, key.keyName);
    },
    failed(key, { cooldownInitialMs, cooldownMultiplier, cooldownCapMs }, tell) {
      // Calls that were under way when it was refused say nothing new.
      if (rests(key)) return;
      const failureCount = (resting.get(nameOf(key))?.failureCount ?? 0) + 1;
      const cooldownMs = Math.round(Math.min(cooldownCapMs, cooldownInitialMs * cooldownMultiplier ** (failureCount - 1)));
      resting.set(nameOf(key), { failureCount, until: now() + cooldownMs });
      tell({ name: 'model:auth_cooldown', payload: { ...key, cooldownMs, failureCount, timestamp: Date.now() } });
    },
    forgetAll: () => resting.clear(),
  };
}

function nameOf({ provider, keyName }: NamedKey): string {
  return `${provider} ${keyName}`;
}
