import { ServiceError } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import { BUDGET_EXCEEDED, type Reserved } from '../budgets/budgets.ts';
import type { TurnPlan } from './turn-plan.ts';

/** Reserves budget for a model call. A started turn gets `exceeded` and ends with a finish reason; a turn that has not started fails. */
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
