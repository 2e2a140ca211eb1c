import { ServiceError, subjects, TurnFrame, TURNS_LOG, type TurnFailure } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Lease } from '@switchyard/service-kit';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { MessageDocument, SessionDocument, TurnDocument } from '../data.ts';
import { channelOf } from '../sessions/directory.ts';
import { createFrameWriter } from './frames.ts';
import type { TurnOutcome } from './loop.ts';

/** Numbers a turn's messages within its session; no turn has as many. */
const MESSAGES_PER_TURN = 1_000;

interface Ledger {
  sessions: Collection<SessionDocument>;
  messages: Collection<MessageDocument>;
  store: Pick<Store, 'now'>;
}

export interface CommitDeps {
  sessions: Documents<SessionDocument>;
  messages: Documents<MessageDocument>;
  now: () => number;
}

/** What a commit writes to, within one tenant. */
export function commitDeps({ sessions, messages, store }: Ledger, tenant: string): CommitDeps {
  return { sessions: sessions.for({ tenant }), messages: messages.for({ tenant }), now: () => store.now() };
}

/**
 * The commit point of a turn. Its messages are written first, under ids of their own, so that doing it twice changes nothing;
 * the guarded write of the turn makes them count; then the lane is given back.
 */
export async function commitTurn(deps: CommitDeps, lease: Lease<TurnDocument>, outcome: TurnOutcome, lastFrame: number): Promise<void> {
  const turn = lease.document;
  const now = deps.now();
  const { result } = outcome;
  const message = (index: number, fields: Pick<MessageDocument, 'role' | 'content' | 'timestamp'>): MessageDocument => ({
    id: `${turn.turnId}/${index}`,
    sessionKey: turn.sessionKey,
    turnId: turn.turnId,
    seq: turn.seq * MESSAGES_PER_TURN + index,
    ...fields,
  });
  await Promise.all([
    deps.messages.replace(message(0, { role: 'user', content: turn.message, timestamp: turn.createdAt })),
    deps.messages.replace({
      ...message(1, { role: 'assistant', content: result.response, timestamp: now }),
      tokensUsed: result.tokensUsed,
      finishReason: result.finishReason,
    }),
  ]);
  const sent = {
    name: 'message:sent',
    payload: { channelId: channelOf(turn.sessionKey), messageId: `${turn.turnId}/1`, content: result.response },
  };
  await lease.finish('done', { result, steps: outcome.steps, lastFrame, finishedAt: now }, [sent]);
  await deps.sessions.update(
    { key: turn.sessionKey, activeTurn: turn.turnId },
    {
      set: { activeTurn: null, updatedAt: now, lastSteps: outcome.steps.length },
      inc: { messageCount: 2, inputTokens: result.tokensUsed.input, outputTokens: result.tokensUsed.output, costUsd: outcome.costUsd },
    },
  );
}

/** The other end of a turn: a typed failure, nothing in the transcript, the lane given back. */
export async function commitFailure(deps: CommitDeps, lease: Lease<TurnDocument>, failure: TurnFailure, lastFrame: number): Promise<void> {
  const { turnId, sessionKey } = lease.document;
  const now = deps.now();
  await deps.messages.remove({ turnId });
  const state = failure.code === 'CANCELLED' ? 'cancelled' : 'failed';
  await lease.finish(state, { failure, lastFrame, finishedAt: now });
  await freeLane(deps.sessions, sessionKey, turnId, now);
}

/** Gives a session's lane back, if this turn still holds it. */
export async function freeLane(sessions: Documents<SessionDocument>, sessionKey: string, turnId: string, now: number): Promise<void> {
  await sessions.update({ key: sessionKey, activeTurn: turnId }, { set: { activeTurn: null, updatedAt: now } });
}

/** What ended the turn, as its readers see it. An aborted turn ends with the reason of the abort, whatever broke because of it. */
export function toFailure(error: unknown, signal: AbortSignal, turnId: string): TurnFailure {
  const cause = signal.aborted && signal.reason instanceof ServiceError ? signal.reason : error;
  if (!(cause instanceof ServiceError)) return { code: 'INTERNAL', message: 'Internal error', details: { turnId } };
  return { code: cause.code, message: cause.message, details: { ...cause.details, turnId } };
}

/** Ends a claimed turn that is not going to run, and tells its readers. */
export async function endWithout(deps: Ledger & { bus: Bus }, lease: Lease<TurnDocument>, error: ServiceError): Promise<void> {
  const { turnId } = lease.document;
  const frames = createFrameWriter(deps.bus, turnId, await framesSoFar(deps.bus, turnId));
  const failure: TurnFailure = { code: error.code, message: error.message, details: { ...error.details, turnId } };
  await commitFailure(commitDeps(deps, lease.tenant), lease, failure, frames.next());
  frames.push({ type: 'error', error: failure });
  frames.close();
}

async function framesSoFar(bus: Bus, turnId: string): Promise<number> {
  const kept = await (await bus.log(TURNS_LOG)).read(subjects.turn(turnId));
  const last = kept.at(-1);
  return last ? TurnFrame.parse(JSON.parse(Buffer.from(last.data).toString())).n + 1 : 1;
}
