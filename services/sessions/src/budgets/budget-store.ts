import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { BudgetDocument } from '../model/budget-document.ts';

/** A limited quantity in one period, such as the tokens of an agent in the current hour. */
export interface Meter {
  tenant: string;
  /** Identifies the subject, the limit and the period. */
  id: string;
  limit: number;
  /** Time at which the document can be deleted. */
  forgetAt: number;
}

/** The used and reserved amount of each meter, shared by all replicas. A reservation counts as used until it is returned. */
export interface BudgetStore {
  /** Reserves the result of `wish(free)`, limited to the remaining amount. Returns 0 for an empty meter. */
  setAside(meter: Meter, wish: (free: number) => number): Promise<number>;
  /** Adds the difference between use and reservation. A negative number returns an unused amount. */
  correct(meter: Pick<Meter, 'tenant' | 'id'>, by: number): Promise<void>;
}

/** Each miss means that another replica reserved an amount first. */
const MAX_MISSES = 100;

export function createLedger(budgets: Collection<BudgetDocument>): BudgetStore {
  return {
    async setAside(meter, wish) {
      const { id, limit, forgetAt } = meter;
      const documents = budgets.for(meter);
      for (let n = 0; n < MAX_MISSES; n += 1) {
        const there = await documents.get(id);
        const free = limit - (there?.used ?? 0);
        if (free <= 0) return 0;
        const part = Math.min(free, wish(free));
        if (there) {
          if (await documents.update({ id, used: { lte: limit - part } }, { inc: { used: part } })) return part;
        } else if (await isFirst(documents.insert({ id, used: part, forgetAt }))) return part;
      }
      throw new ServiceError('UNAVAILABLE', 'Too many concurrent requests for one budget. Retry in a moment.', {
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
