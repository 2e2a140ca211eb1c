import { ServiceError, type StepBudget } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import { BUDGET_EXCEEDED, type Reserved } from '../budgets/budgets.ts';
import type { TurnUsage } from '../model/checkpoint-log.ts';
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

/** Returns what is left of the budget of the turn before a model call, and what is reserved for the call in the other budgets. */
export function describeBudget(
  { maxTokens, maxCostUsd = Infinity }: Pick<TurnPlan, 'maxTokens' | 'maxCostUsd'>,
  { input, output, costUsd }: Pick<TurnUsage, 'input' | 'output' | 'costUsd'>,
  reserved: Pick<Reserved, 'expected'> | undefined,
): StepBudget {
  return {
    leftTokens: Math.max(0, maxTokens - input - output),
    ...(maxCostUsd === Infinity ? {} : { leftUsd: Math.max(0, maxCostUsd - costUsd) }),
    ...(reserved === undefined ? {} : { reservedTokens: reserved.expected.tokens }),
    ...(reserved === undefined || reserved.expected.costUsd === 0 ? {} : { reservedUsd: reserved.expected.costUsd }),
  };
}
