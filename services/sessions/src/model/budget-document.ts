import { z } from 'zod';
import { collection } from '@switchyard/store';
import { instant } from './schema-fields.ts';

/** Amount used or reserved of one meter in one time window (`budgets/budget-store.ts`). */
export const BudgetDocument = z.object({ id: z.string(), used: z.int(), forgetAt: instant });

export type BudgetDocument = z.infer<typeof BudgetDocument>;

export const budgetCollection = collection({
  name: 'budgets',
  schema: BudgetDocument,
  key: 'id',
  expires: { field: 'forgetAt', afterMs: 0 },
});
