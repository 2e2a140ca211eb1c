import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { BudgetDocument } from '../model/budget-document.ts';

/** One thing that may be used only so much of in one stretch of time, such as the tokens of an agent in this hour. */
export interface Meter {
  tenant: string;
  /** Names it, with the stretch of time. */
  id: string;
  limit: number;
  /** When nobody asks for it any more. */
  forgetAt: number;
}

/** How much of each meter is used or set aside, for all replicas. What is set aside counts as used until it is given back. */
export interface Ledger {
  /** Sets aside as much as `wish` says, given how much there is; at most that much. 0 where nothing is left. */
  setAside(meter: Meter, wish: (free: number) => number): Promise<number>;
  /** What was used beyond what was set aside; negative for what was not used of it. */
  correct(meter: Pick<Meter, 'tenant' | 'id'>, by: number): Promise<void>;
}

/** Each miss means that somebody else has set something aside. */
const MOST_MISSES = 100;

export function createLedger(budgets: Collection<BudgetDocument>): Ledger {
  return {
    async setAside(meter, wish) {
      const { id, limit, forgetAt } = meter;
      const documents = budgets.for(meter);
      for (let n = 0; n < MOST_MISSES; n += 1) {
        const there = await documents.get(id);
        const free = limit - (there?.used ?? 0);
        if (free <= 0) return 0;
        const part = Math.min(free, wish(free));
        if (there) {
          if (await documents.update({ id, used: { lte: limit - part } }, { inc: { used: part } })) return part;
        } else if (await isFirst(documents.insert({ id, used: part, forgetAt }))) return part;
      }
      throw new ServiceError('UNAVAILABLE', 'Too many ask for one budget at once; try again in a moment.', {
        details: { reason: 'BUDGET_CONTENDED', retryAfterMs: 1_000 },
      });
    },

    async correct({ tenant, id }, by) {
      await budgets.for({ tenant }).update({ id }, { inc: { used: by } });
    },
  };
}

async function isFirst(insert: Promise<unknown>): Promise<boolean> {
  try {
    await insert;
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return false;
    throw error;
  }
}
