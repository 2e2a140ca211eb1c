import type { Clock } from '@switchyard/service-kit';
import type { Ledger, Meter } from './budget-store.ts';

/** A part of a budget that one piece of work may use. */
export interface Share {
  /** Once: how much was used of it, which may be more. */
  settle(used: number): void;
}

/** What this replica may use of each meter without asking the others. */
export interface Allotments extends AsyncDisposable {
  /** Takes so much where it is set aside already; undefined where it must be asked for. */
  takeNow(meter: Meter, amount: number): Share | undefined;
  /** Takes so much, or what is left where that is less; undefined where nothing is. */
  take(meter: Meter, amount: number): Promise<Share | undefined>;
}

/** So many calls like the one at hand are set aside together, so that most turns write nothing for their budgets: */
const LEAST_CALLS = 64;
/** twice as many each time they were used up within a second, up to so many. */
const MOST_CALLS = 1_024;
const SOON_MS = 1_000;
/** But never more than this part of what is left: near its end a budget is given out call by call. */
const MOST_OF_FREE = 16;
/** What nobody used for so long goes back to the others. */
const IDLE_MS = 5_000;
/** A meter that was empty is looked at again no sooner. */
const EMPTY_MS = 250;

interface Allotment {
  meter: Meter;
  /** Below zero: more was used than was set aside. */
  left: number;
  /** Shares that are not settled. */
  open: number;
  usedAt: number;
  /** How many calls were set aside at once, and when. */
  calls: number;
  filledAt: number;
  filling: Promise<void> | undefined;
  /** The limit of which nothing was left, and until when that is taken for true. */
  empty: { limit: number; until: number } | undefined;
}

export function createAllotments(ledger: Ledger, clock: Clock): Allotments {
  const all = new Map<string, Allotment>();
  const returning = new Set<Promise<void>>();

  function allotmentOf(meter: Meter): Allotment {
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
    allotment.calls = now - allotment.filledAt < SOON_MS ? Math.min(MOST_CALLS, allotment.calls * 2) : LEAST_CALLS;
    allotment.filledAt = now;
    const wish = Math.max(need, amount * allotment.calls);
    const part = await ledger.setAside(meter, (free) => Math.max(need, Math.min(wish, Math.floor(free / MOST_OF_FREE))));
    allotment.left += part;
    allotment.empty = part > 0 ? undefined : { limit: meter.limit, until: clock.now() + EMPTY_MS };
  }

  function isEmpty({ empty }: Allotment, { limit }: Meter): boolean {
    return empty !== undefined && empty.limit === limit && clock.now() < empty.until;
  }

  function shareOf(allotment: Allotment, amount: number): Share {
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
      // Whoever filled it comes first: what is too little now is all there is.
      if (allotment.left < amount) break;
    }
    return allotment.left > 0 ? shareOf(allotment, amount) : undefined;
  }

  /** What is not given back, because nobody could be told, counts as used: a budget is never counted down twice. */
  function giveBack(name: string, { meter, left }: Allotment): void {
    all.delete(name);
    if (left === 0) return;
    const told = ledger.correct(meter, -left).catch(() => undefined);
    returning.add(told);
    void told.finally(() => returning.delete(told));
  }

  const stop = clock.every(IDLE_MS, () => {
    for (const [name, one] of all) {
      if (one.open === 0 && clock.now() - one.usedAt >= IDLE_MS) giveBack(name, one);
    }
  });

  return {
    takeNow(meter, amount) {
      const allotment = allotmentOf(meter);
      if (allotment.left < amount) return undefined;
      allotment.open += 1;
      return shareOf(allotment, amount);
    },
    async take(meter, amount) {
      const allotment = allotmentOf(meter);
      // Held from here on, so that it is not given back while it is filled.
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
