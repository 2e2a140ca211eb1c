import { ServiceError } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import { BUDGET_EXCEEDED, type Reserved } from '../budgets/budgets.ts';
import type { TurnPlan } from './turn-plan.ts';

/** Reserves budget for a model call. A started turn gets `exceeded` and ends with a finish reason; a turn that has not started fails. */
export async function reserve(
  plan: TurnPlan,
  messages: readonly ModelMessage[],
  begun: boolean,
): Promise<Reserved | 'exceeded' | undefined> {
  const { budget, model, system, maxOutputTokens } = plan;
  try {
    return await budget?.reserve({ model, system, messages, maxOutputTokens });
  } catch (error) {
    if (begun && error instanceof ServiceError && error.details.reason === BUDGET_EXCEEDED) return 'exceeded';
    throw error;
  }
}
