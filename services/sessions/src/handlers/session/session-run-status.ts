import type { Handler } from '@switchyard/bus';
import { MAX, ServiceError, type Result } from '@switchyard/contracts';
import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { loadText } from '../../model/stored-text.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import type { SubAgents } from '../../subagents/subagents.ts';
import { canFollow } from '../../model/session-ownership.ts';
import { isOutside } from '../../screening/untrusted-message.ts';

export interface SessionRunStatusDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  store: Pick<Store, 'now'>;
  subAgents: Pick<SubAgents, 'status'>;
}

type Run = Result<'session.run_status'>;

const STATUS = { queued: 'queued', running: 'running', done: 'completed', failed: 'failed', cancelled: 'failed' } as const;

/** Returns the progress of a sub-agent run or of a turn. Returns NOT_FOUND for a turn of another client. */
export function sessionRunStatus({ sessions, turns, bodies, store, subAgents }: SessionRunStatusDeps): Handler<'session.run_status'> {
  return async ({ run_id }, { principal }) => {
    const run = await subAgents.status(principal, run_id);
    if (run) return run;
    const turn = await turns.for(principal).get(run_id);
    if (!turn || !(await canFollow(sessions, principal, turn))) throw new ServiceError('NOT_FOUND', 'Run not found.');
    const { turnId, agentId, sessionKey, state, createdAt, startedAt, message, answer } = turn;
    const mine = bodies.for(principal);
    const startedCount = startedAt ?? createdAt;
    return {
      runId: turnId,
      status: STATUS[state],
      agentId,
      task: await loadText(mine, turnId, message),
      sessionKey,
      startedAt: startedCount,
      queuedAt: createdAt,
      runtimeMs: Math.max(0, (turn.finishedAt ?? store.now()) - startedCount),
      ...(hasEnded(turn) ? getEnd(turn) : {}),
      ...(answer === undefined ? {} : { response: await loadText(mine, turnId, answer) }),
      ...(principal.session !== undefined && isOutside(turn, 'assistant') ? { outside: true as const } : {}),
    };
  };
}

function getEnd({ state, finishedAt, tokensUsed, costUsd, finishReason, stepCount, failure }: TurnDocument): Partial<Run> {
  return {
    ...(finishedAt === undefined ? {} : { completedAt: finishedAt }),
    ...(tokensUsed === undefined ? {} : { tokensUsed }),
    ...(costUsd === undefined ? {} : { cost: { total: costUsd } }),
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(stepCount === undefined ? {} : { stepsExecuted: stepCount }),
    ...(failure === undefined ? {} : { error: `${failure.code}: ${failure.message}`.slice(0, MAX.line).toWellFormed() }),
    endReason: state === 'cancelled' ? 'killed' : state === 'failed' ? 'failed' : 'completed',
  };
}
