import type { AbortReason, TurnFailure, TurnResult } from '@switchyard/contracts';
import type { OutboxEvent } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';

/** Abort reasons of turns that ended with an answer. */
const REASON_BY_FINISH: Partial<Record<TurnResult['finishReason'], AbortReason>> = {
  max_steps: 'max_steps',
  budget_exceeded: 'budget_exceeded',
  budget_exhausted: 'budget_exceeded',
  circuit_open: 'circuit_breaker',
  context_exhausted: 'context_exhausted',
  context_loop: 'context_loop',
  output_starved: 'output_starved',
};

/** Abort reasons of turns that failed, by the reason in the failure details. */
const REASON_BY_FAILURE: Readonly<Record<string, AbortReason>> = {
  TURN_CANCELLED: 'user_stop',
  TURN_TIMEOUT: 'pipeline_timeout',
  CIRCUIT_OPEN: 'circuit_breaker',
  BUDGET_EXCEEDED: 'budget_exceeded',
};

/** Identity of an aborted turn. */
export type AbortedTurn = Pick<TurnDocument, 'turnId' | 'sessionKey' | 'agentId'>;

/** Returns the event of a turn that was ended by a limit, to be emitted with the write that ends it. Empty for other endings. */
export function abortEvents(
  turn: AbortedTurn,
  end: { finish: TurnResult['finishReason'] } | { failure: TurnFailure },
  now: number,
): OutboxEvent[] {
  const reason = 'finish' in end ? REASON_BY_FINISH[end.finish] : REASON_BY_FAILURE[String(end.failure.details?.['reason'])];
  if (reason === undefined) return [];
  const { turnId, sessionKey, agentId } = turn;
  return [{ name: 'execution:aborted', payload: { turnId, sessionKey, agentId, reason, timestamp: now } }];
}
