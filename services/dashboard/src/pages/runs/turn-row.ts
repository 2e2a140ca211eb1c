import type { CallResult } from '@switchyard/client';

/** One turn of `obs.trace.search`, whose rows are open objects. */
export interface TurnRow {
  turnId: string;
  at: string;
  sessionKey: string | undefined;
  agentId: string | undefined;
  state: string | undefined;
  model: string | undefined;
  durationMs: number | undefined;
  tokens: number | undefined;
  costUsd: number | undefined;
  lastError: string | undefined;
}

/** Reads the turns. Rows of single model calls, which have no session, are left out. */
export function readTurnRows({ rows }: CallResult<'obs.trace.search'>): TurnRow[] {
  return rows.flatMap((row) => {
    const text = (key: string): string | undefined => (typeof row[key] === 'string' ? row[key] : undefined);
    const count = (key: string): number | undefined => (typeof row[key] === 'number' ? row[key] : undefined);
    const turnId = text('traceId');
    if (turnId === undefined || text('event') !== 'turn_completed') return [];
    const [input, output] = [count('inputTokens'), count('outputTokens')];
    return [
      {
        turnId,
        at: text('ts') ?? '',
        sessionKey: text('sessionKey'),
        agentId: text('agentId'),
        state: text('finishReason') ?? text('state'),
        model: text('model'),
        durationMs: count('durationMs'),
        tokens: input === undefined || output === undefined ? undefined : input + output,
        costUsd: count('costUsd'),
        lastError: text('lastError'),
      },
    ];
  });
}
