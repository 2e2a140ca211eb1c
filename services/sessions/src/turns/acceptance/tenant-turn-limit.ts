import type { FullFor } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';
import { tenantQueueFull } from '../store/turn-errors.ts';

/** How many turns of a tenant may wait, so that none of them fills the database for all. */
export interface TenantTurnLimit {
  /** Throws when one more is too many. To be disposed of when the turn is written, or is not: until then no count sees it. */
  admit(tenant: string): Promise<Disposable>;
  /** Returns for how many milliseconds the limit is known to be reached, and how many retries are expected to succeed afterwards. */
  fullFor(tenant: string): Pick<FullFor, 'ms' | 'tries'> | undefined;
}

/** Who is at the bound is counted again no more often than this, and the more often the less there is to count. */
const COUNT_INTERVAL_MS = 1_000;
/** A database counts more than this in a millisecond. */
const MIN_COUNTED_PER_MS = 10;

/** Of the places so many are expected to be free by the next count; it is tried with more where there are. */
const EXPECTED_FREE_SHARE = 0.1;

interface TenantCount {
  waiting: number;
  countedAt: number;
  /** Running count; concurrent callers wait for it. */
  counting?: Promise<void> | undefined;
  /** Admitted turns that may not be in the database yet. */
  writing: number;
}

/** Turns are counted when as many came as may wait: those that have begun since then make room. */
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
