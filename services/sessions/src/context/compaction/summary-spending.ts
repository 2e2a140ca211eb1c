import type { Clock } from '@switchyard/service-kit';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface SpendLimits {
  perHour: number;
  perDay: number;
}

/** Spending on summaries per tenant in this process, apart from the budgets of its turns. */
export interface Spending {
  may(tenant: string, limits: SpendLimits): boolean;
  add(tenant: string, tokens: number): void;
}

export function createSpending(clock: Clock): Spending {
  const spent = new Map<string, { at: number; tokens: number }[]>();
  const since = (tenant: string, ms: number): number =>
    (spent.get(tenant) ?? []).filter(({ at }) => at > clock.now() - ms).reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    may: (tenant, { perHour, perDay }) => since(tenant, HOUR_MS) < perHour && since(tenant, DAY_MS) < perDay,
    add(tenant, tokens) {
      const known = (spent.get(tenant) ?? []).filter(({ at }) => at > clock.now() - DAY_MS);
      spent.set(tenant, [...known, { at: clock.now(), tokens }]);
    },
  };
}
