import type { Handler } from '@switchyard/bus';
import type { Principal, TurnEndRecord } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { canFollow } from '../model/session-ownership.ts';
import { loadCheckpoints } from '../model/checkpoint-log.ts';
import { hasEnded, type TurnDocument } from '../model/turn-document.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { countToolCalls } from '../turns/tool-call-count.ts';
import { getTurnState } from '../turns/store/turn-state.ts';
import { noUsage } from '../turns/store/turn-ended-event.ts';
import { loadTurnEnd } from '../turns/ending/turn-waiters.ts';
import type { TurnRunner } from '../turns/turn-runner.ts';

export interface TurnsEndsDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  clock: Clock;
  runner: Pick<TurnRunner, 'attach'>;
}

interface WaitOptions {
  turns: readonly TurnDocument[];
  principal: Principal;
  waitMs: number;
  signal: AbortSignal;
}

/** Returns how turns of the caller stand. Waits until all have ended or `waitMs` is over. */
export function turnsEnds(deps: TurnsEndsDeps): Handler<'turns.ends'> {
  return async ({ turnIds, waitMs, countTools }, { principal, signal }) => {
    let turns = await loadTurns(deps, principal, turnIds);
    if (waitMs > 0 && turns.some((turn) => !hasEnded(turn))) {
      await waitForEnds(deps, { turns, principal, waitMs, signal });
      turns = await loadTurns(deps, principal, turnIds);
    }
    const found = new Set(turns.map(({ turnId }) => turnId));
    return {
      turns: await Promise.all(turns.map((turn) => toRecord(deps, principal, { turn, countTools }))),
      missing: turnIds.filter((turnId) => !found.has(turnId)),
    };
  };
}

/** Loads the turns that exist and belong to the client. */
async function loadTurns(deps: TurnsEndsDeps, principal: Principal, turnIds: readonly string[]): Promise<TurnDocument[]> {
  const { items } = await deps.turns.for(principal).find({ turnId: { in: [...turnIds] } }, { limit: turnIds.length });
  const mayFollow = await Promise.all(items.map((turn) => canFollow(deps.sessions, principal, turn)));
  return items.filter((_, index) => mayFollow[index]);
}

async function waitForEnds({ clock, runner }: TurnsEndsDeps, { turns, principal, waitMs, signal }: WaitOptions): Promise<void> {
  const timeout = new AbortController();
  const stopTimer = clock.after(waitMs, () => timeout.abort());
  const waitSignal = AbortSignal.any([signal, timeout.signal]);
  const running = turns.filter((turn) => !hasEnded(turn));
  // A failed turn rejects. How it ended is read from its document.
  await Promise.allSettled(running.map(({ turnId }) => runner.attach(turnId, principal, waitSignal)));
  stopTimer();
}

interface RecordOptions {
  turn: TurnDocument;
  countTools: boolean;
}

async function toRecord(
  { bodies, ...deps }: TurnsEndsDeps,
  principal: Principal,
  { turn, countTools }: RecordOptions,
): Promise<TurnEndRecord> {
  const { turnId, sessionKey, stepCount, steps, usage, startedAt, finishedAt } = turn;
  const ended = hasEnded(turn);
  const { state } = await getTurnState(deps, principal, turn);
  const { result, failure } = ended ? await loadTurnEnd(bodies.for(principal), turn) : {};
  return {
    turnId,
    sessionKey,
    state,
    ...(result && { result }),
    ...(failure && { failure }),
    ...(ended ? { usage: usage ?? noUsage(), steps: stepCount ?? steps.length } : {}),
    ...(ended && countTools ? { tools: countToolCalls(await loadCheckpoints(bodies.for(principal), turnId, steps)) } : {}),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  };
}
