import type { RecordDocument } from '../documents/collections.ts';

export interface Outcome {
  endReason: string;
  degraded: boolean;
  severity: 'ok' | 'degraded' | 'failed';
}

const TIMEOUT_REASONS: ReadonlySet<string> = new Set(['TURN_TIMEOUT', 'MODEL_STALLED']);
const BUDGET_REASONS: ReadonlySet<string> = new Set(['BUDGET_EXCEEDED', 'BUDGET_CONTENDED']);
/** Finish reasons of complete answers. */
const COMPLETE: ReadonlySet<string> = new Set(['stop', 'end_turn', 'tool_calls', 'session_reset', 'command']);

/** Names the terminal cause of a turn and how bad it is. */
export function getOutcome(record: RecordDocument): Outcome {
  const endReason = getEndReason(record);
  const severity = getSeverity(endReason);
  return { endReason, degraded: severity !== 'ok', severity };
}

function getEndReason(record: RecordDocument): string {
  const { state, finishReason = 'stop', failureReason = '' } = record;
  if (state === 'cancelled') return 'user_stop';
  if (state === 'failed' || state === 'timed_out') {
    if (state === 'timed_out' || TIMEOUT_REASONS.has(failureReason)) return 'timeout';
    return BUDGET_REASONS.has(failureReason) ? 'budget_exceeded' : 'error';
  }
  if (finishReason === 'budget_exhausted') return 'budget_exceeded';
  if (!COMPLETE.has(finishReason)) return finishReason;
  return hasFailedTools(record) ? 'completed_with_tool_errors' : 'completed';
}

function getSeverity(endReason: string): Outcome['severity'] {
  if (endReason === 'completed' || endReason === 'user_stop') return 'ok';
  return endReason === 'error' ? 'failed' : 'degraded';
}

function hasFailedTools({ evidence }: RecordDocument): boolean {
  return evidence?.steps.some(({ tools = [] }) => tools.some(({ failed }) => failed === true)) ?? false;
}
