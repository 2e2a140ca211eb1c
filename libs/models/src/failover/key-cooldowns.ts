import type { AgentConfig } from '@switchyard/contracts';
import type { PublishEvent } from './failover.ts';

type CooldownPolicy = AgentConfig['modelFailover'];

export interface NamedKey {
  provider: string;
  keyName: string;
}

/** Cooldowns of rejected keys, which grow with each failure. Other keys are used meanwhile. */
export interface KeyCooldowns {
  isCoolingDown(key: NamedKey): boolean;
  /** Returns the last working key of a provider. */
  getLastWorkingKey(provider: string): string | undefined;
  recordSuccess(key: NamedKey): void;
  recordFailure(key: NamedKey, policy: CooldownPolicy, publish: PublishEvent): void;
  clear(): void;
}

export function createKeyCooldowns(now: () => number): KeyCooldowns {
  const cooldowns = new Map<string, { failureCount: number; until: number }>();
  const workingKeys = new Map<string, string>();
  const rests = (key: NamedKey): boolean => (cooldowns.get(formatKeyName(key))?.until ?? 0) > now();
  return {
    isCoolingDown: rests,
    getLastWorkingKey: (provider) => workingKeys.get(provider),
    recordSuccess(key) {
      cooldowns.delete(formatKeyName(key));
      workingKeys.set(key.provider, key.keyName);
    },
    recordFailure(key, { cooldownInitialMs, cooldownMultiplier, cooldownCapMs }, publish) {
      // Calls that were running when the key was rejected do not extend the cooldown.
      if (rests(key)) return;
      const failureCount = (cooldowns.get(formatKeyName(key))?.failureCount ?? 0) + 1;
      const cooldownMs = Math.round(Math.min(cooldownCapMs, cooldownInitialMs * cooldownMultiplier ** (failureCount - 1)));
      cooldowns.set(formatKeyName(key), { failureCount, until: now() + cooldownMs });
      publish({ name: 'model:auth_cooldown', payload: { ...key, cooldownMs, failureCount, timestamp: Date.now() } });
    },
    clear: () => cooldowns.clear(),
  };
}

function formatKeyName({ provider, keyName }: NamedKey): string {
  return `${provider} ${keyName}`;
}
