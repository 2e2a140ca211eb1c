import type { FullFor } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';
import { tenantQueueFull } from '../store/turn-errors.ts';

/** Limits the waiting turns of a tenant, so that no tenant fills the database. */
export interface TenantTurnLimit {
  /**
   * Throws when the limit is reached. The caller disposes the result once the turn is written or rejected; until then it is counted here.
   */
  admit(tenant: string): Promise<Disposable>;
  /** Returns for how many milliseconds the limit is known to be reached, and how many retries are expected to succeed afterwards. */
  fullFor(tenant: string): Pick<FullFor, 'ms' | 'tries'> | undefined;
}

/** Minimum interval between two counts of a tenant at its limit. Shorter when there is less to count. */
const COUNT_INTERVAL_MS = 1_000;
/** Lower bound for the counting speed of the database. */
const MIN_COUNTED_PER_MS = 10;

/** Share of the places expected to be free at the next count. More callers are let through if there are more. */
const EXPECTED_FREE_SHARE = 0.1;

interface TenantCount {
  waiting: number;
  countedAt: number;
  /** Running count; concurrent callers wait for it. */
  counting?: Promise<void> | undefined;
  /** Admitted turns that may not be in the database yet. */
  writing: number;
}

/** Counts waiting turns only when as many have arrived as may wait. Turns that have started since then free places. */
export function createTenantTurnLimit(deps: { turns: Collection<TurnDocument>; clock: Clock; maxWaiting: () => number }): TenantTurnLimit {
  const { turns, clock, maxWaiting } = deps;
  const tenants = new Map<string, TenantCount>();
  const isFull = ({ waiting }: TenantCount): boolean => waiting >= maxWaiting();
  const everyMs = (): number => Math.min(COUNT_INTERVAL_MS, maxWaiting() / MIN_COUNTED_PER_MS);
  const untilCount = ({ countedAt }: TenantCount): number => Math.max(0, countedAt + everyMs() - clock.now());
  const count = async (tenant: string, known: TenantCount): Promise<void> => {
    known.countedAt = clock.now();
    known.waiting = (await turns.system().count({ tenant, state: 'queued' })) + known.writing;
  };
  return {
    fullFor(tenant) {
      const known = tenants.get(tenant);
      const ms = known && !known.counting && isFull(known) ? untilCount(known) : 0;
      return ms === 0 ? undefined : { ms, tries: { calls: Math.ceil(maxWaiting() * EXPECTED_FREE_SHARE), everyMs: everyMs() } };
    },
    async admit(tenant) {
      const known = tenants.get(tenant) ?? { waiting: 0, countedAt: -COUNT_INTERVAL_MS, writing: 0 };
      tenants.set(tenant, known);
      if (isFull(known) && untilCount(known) === 0)
        known.counting ??= count(tenant, known).finally(() => {
          known.counting = undefined;
        });
      if (known.counting) await known.counting;
      if (isFull(known)) throw tenantQueueFull(maxWaiting());
      known.waiting += 1;
      known.writing += 1;
      return { [Symbol.dispose]: () => void (known.writing -= 1) };
    },
  };
}
