import type { Clock } from '@switchyard/service-kit';
import type { BudgetStore, Meter } from './budget-store.ts';

/** The part of a budget that is reserved for one operation. */
export interface Share {
  /** Records the amount used, which can exceed the reservation. Must be called exactly once. */
  settle(used: number): void;
}

/** The amounts that this replica has reserved from each meter. They are spent without a database write. */
export interface Allotments extends AsyncDisposable {
  /** Takes `amount` from the local allotment. Returns undefined if the allotment is too small. */
  takeNow(meter: Meter, amount: number): Share | undefined;
  /**
   * Takes `amount` and refills the allotment from the store if needed. Takes the remainder if less is left. Returns undefined for an
   * empty meter.
   */
  take(meter: Meter, amount: number): Promise<Share | undefined>;
}

/** Minimum number of calls that one refill covers, so that most turns write nothing for their budgets. */
const LEAST_CALLS = 64;
/** Maximum number of calls per refill. The number doubles each time an allotment is used up within a second. */
const MAX_CALLS = 1_024;
const SHORT_WINDOW_MS = 1_000;
/** A refill takes at most one sixteenth of the remaining budget. Near the limit each call is reserved separately. */
const MAX_SHARE_DIVISOR = 16;
/** An allotment that is idle for this long is returned to the store for other replicas. */
const IDLE_MS = 5_000;
/** Time before an empty meter is read again. */
const EMPTY_MS = 250;

interface Allotment {
  meter: Meter;
  /** Negative if more was used than reserved. */
  left: number;
  /** Number of unsettled shares. */
  open: number;
  usedAt: number;
  /** Number of calls in the last refill, and its time. */
  calls: number;
  filledAt: number;
  filling: Promise<void> | undefined;
  /** The limit at which the meter was empty, and the expiry of that result. */
  empty: { limit: number; until: number } | undefined;
}

export function createAllotments(ledger: BudgetStore, clock: Clock): Allotments {
  const all = new Map<string, Allotment>();
  const returning = new Set<Promise<void>>();

  function getAllotment(meter: Meter): Allotment {
    const name = `${meter.tenant} ${meter.id}`;
    const known = all.get(name);
    if (known) return known;
    const made: Allotment = {
      meter,
      left: 0,
      open: 0,
      usedAt: clock.now(),
      calls: LEAST_CALLS,
      filledAt: Number.NEGATIVE_INFINITY,
      filling: undefined,
      empty: undefined,
    };
    all.set(name, made);
    return made;
  }

  async function fill(allotment: Allotment, meter: Meter, amount: number): Promise<void> {
    const need = amount - allotment.left;
    const now = clock.now();
    allotment.calls = now - allotment.filledAt < SHORT_WINDOW_MS ? Math.min(MAX_CALLS, allotment.calls * 2) : LEAST_CALLS;
    allotment.filledAt = now;
    const wish = Math.max(need, amount * allotment.calls);
    const part = await ledger.setAside(meter, (free) => Math.max(need, Math.min(wish, Math.floor(free / MAX_SHARE_DIVISOR))));
    allotment.left += part;
    allotment.empty = part > 0 ? undefined : { limit: meter.limit, until: clock.now() + EMPTY_MS };
  }

  function isEmpty({ empty }: Allotment, { limit }: Meter): boolean {
    return empty !== undefined && empty.limit === limit && clock.now() < empty.until;
  }

  function getShare(allotment: Allotment, amount: number): Share {
    const part = Math.min(allotment.left, amount);
    allotment.left -= part;
    return {
      settle(used) {
        allotment.left += part - used;
        allotment.open -= 1;
        allotment.usedAt = clock.now();
      },
    };
  }

  async function take(allotment: Allotment, meter: Meter, amount: number): Promise<Share | undefined> {
    while (allotment.left < amount) {
      if (allotment.filling !== undefined) {
        await allotment.filling;
        continue;
      }
      if (isEmpty(allotment, meter)) break;
      allotment.filling = fill(allotment, meter, amount).finally(() => (allotment.filling = undefined));
      await allotment.filling;
      // The caller that refills the allotment is served first. A remainder below `amount` is the last of the budget.
      if (allotment.left < amount) break;
    }
    return allotment.left > 0 ? getShare(allotment, amount) : undefined;
  }

  /** Returns the remainder to the store. If the write fails the remainder counts as used, because a retry could subtract it twice. */
  function giveBack(name: string, { meter, left }: Allotment): void {
    all.delete(name);
    if (left === 0) return;
    const notification = ledger.correct(meter, -left).catch(() => undefined);
    returning.add(notification);
    void notification.finally(() => returning.delete(notification));
  }

  const stop = clock.every(IDLE_MS, () => {
    for (const [name, one] of all) {
      if (one.open === 0 && clock.now() - one.usedAt >= IDLE_MS) giveBack(name, one);
    }
  });

  return {
    takeNow(meter, amount) {
      const allotment = getAllotment(meter);
      if (allotment.left < amount) return undefined;
      allotment.open += 1;
      return getShare(allotment, amount);
    },
    async take(meter, amount) {
      const allotment = getAllotment(meter);
      // Counted as open before the refill, so that the idle check does not return the allotment meanwhile.
      allotment.open += 1;
      const share = await take(allotment, meter, amount).catch((error: unknown) => {
        allotment.open -= 1;
        throw error;
      });
      if (!share) allotment.open -= 1;
      return share;
    },
    async [Symbol.asyncDispose]() {
      stop();
      for (const [name, one] of all) giveBack(name, one);
      await Promise.all(returning);
    },
  };
}
