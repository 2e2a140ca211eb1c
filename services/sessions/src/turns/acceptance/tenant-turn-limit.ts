import type { FullFor } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';
import { tooManyWait } from '../store/turn-errors.ts';

/** How many turns of a tenant may wait, so that none of them fills the database for all. */
export interface TenantBound {
  /** Throws when one more is too many. To be disposed of when the turn is written, or is not: until then no count sees it. */
  admit(tenant: string): Promise<Disposable>;
  /** For how many milliseconds it is known that one more is too many, until it is time to count again, and what to expect then. */
  fullFor(tenant: string): Pick<FullFor, 'ms' | 'tries'> | undefined;
}

/** Who is at the bound is counted again no more often than this, and the more often the less there is to count. */
const COUNT_MS = 1_000;
/** A database counts more than this in a millisecond. */
const COUNTED_PER_MS = 10;

/** Of the places so many are expected to be free by the next count; it is tried with more where there are. */
const FREED = 0.1;

interface Known {
  waiting: number;
  countedAt: number;
  /** Under way: who comes meanwhile waits for it too. */
  counting?: Promise<void> | undefined;
  /** Admitted, and perhaps not in the database yet. */
  writing: number;
}

/** Turns are counted when as many came as may wait: those that have begun since then make room. */
export function createTenantBound(deps: { turns: Collection<TurnDocument>; clock: Clock; most: () => number }): TenantBound {
  const { turns, clock, most } = deps;
  const tenants = new Map<string, Known>();
  const isFull = ({ waiting }: Known): boolean => waiting >= most();
  const everyMs = (): number => Math.min(COUNT_MS, most() / COUNTED_PER_MS);
  const untilCount = ({ countedAt }: Known): number => Math.max(0, countedAt + everyMs() - clock.now());
  const count = async (tenant: string, known: Known): Promise<void> => {
    known.countedAt = clock.now();
    known.waiting = (await turns.system().count({ tenant, state: 'queued' })) + known.writing;
  };
  return {
    fullFor(tenant) {
      const known = tenants.get(tenant);
      const ms = known && !known.counting && isFull(known) ? untilCount(known) : 0;
      return ms === 0 ? undefined : { ms, tries: { calls: Math.ceil(most() * FREED), everyMs: everyMs() } };
    },
    async admit(tenant) {
      const known = tenants.get(tenant) ?? { waiting: 0, countedAt: -COUNT_MS, writing: 0 };
      tenants.set(tenant, known);
      if (isFull(known) && untilCount(known) === 0)
        known.counting ??= count(tenant, known).finally(() => {
          known.counting = undefined;
        });
      if (known.counting) await known.counting;
      if (isFull(known)) throw tooManyWait(most());
      known.waiting += 1;
      known.writing += 1;
      return { [Symbol.dispose]: () => void (known.writing -= 1) };
    },
  };
}
