import { ServiceError } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import { BUDGET_EXCEEDED, type Reserved } from '../budgets/budgets.ts';
import type { TurnPlan } from './turn-plan.ts';

/** A turn that has begun ends by name where nothing is left for its next call; one that has not fails. */
export async function reserveBudget(
  plan: TurnPlan,
  messages: readonly ModelMessage[],
  started: boolean,
): Promise<Reserved | 'exceeded' | undefined> {
  const { budget, model, system, maxOutputTokens } = plan;
  try {
    return await budget?.reserve({ model, system, messages, maxOutputTokens });
  } catch (error) {
    if (started && error instanceof ServiceError && error.details.reason === BUDGET_EXCEEDED) return 'exceeded';
    throw error;
  }
}
