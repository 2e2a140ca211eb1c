import { ServiceError, type TurnFailure } from '@switchyard/contracts';
import type { Lease } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { MessageDocument, SessionDocument, TurnDocument } from '../data.ts';
import { channelOf } from '../sessions/directory.ts';
import type { TurnOutcome } from './loop.ts';

/** Where the end of a turn is written. */
export interface Ledger {
  sessions: Collection<SessionDocument>;
  messages: Collection<MessageDocument>;
  store: Pick<Store, 'now'>;
}

/** The commit point of a turn that has an answer: one guarded write. What follows from it is `settle`. */
export async function commitResult(
  { store }: Pick<Ledger, 'store'>,
  lease: Lease<TurnDocument>,
  { outcome, lastFrame }: { outcome: TurnOutcome; lastFrame: number },
): Promise<TurnDocument> {
  const { turnId, sessionKey } = lease.document;
  const { result, steps, costUsd } = outcome;
  const sent = { name: 'message:sent', payload: { channelId: channelOf(sessionKey), messageId: `${turnId}/1`, content: result.response } };
  return lease.finish('done', { result, steps, costUsd, lastFrame, finishedAt: store.now() }, [sent]);
}

/** The commit point of a turn that has none. */
export async function commitFailure(
  { store }: Pick<Ledger, 'store'>,
  lease: Lease<TurnDocument>,
  { failure, lastFrame }: { failure: TurnFailure; lastFrame: number },
): Promise<TurnDocument> {
  const state = failure.code === 'CANCELLED' ? 'cancelled' : 'failed';
  return lease.finish(state, { failure, lastFrame, finishedAt: store.now() });
}

/**
 * Tells the session of a turn that has ended: its messages if it has an answer, the totals, the lane back. The write that gives
 * the lane back is what makes it count, and it happens once; whoever died before it leaves a lane that the sweeper settles.
 */
export async function settle({ sessions, messages, store }: Ledger, tenant: string, turn: TurnDocument): Promise<void> {
  const { turnId, sessionKey: key, result } = turn;
  const mine = sessions.for({ tenant });
  const held = { key, activeTurn: turnId };
  const free = { activeTurn: null, updatedAt: store.now() };
  if (!result) {
    await mine.update(held, { set: free });
    return;
  }
  const session = await mine.get(key);
  if (session?.activeTurn !== turnId) return;
  await Promise.all(messagesOf(turn, session.messageCount).map((message) => messages.for({ tenant }).replace(message)));
  await mine.update(held, {
    set: { ...free, lastSteps: turn.steps.length },
    inc: { messageCount: 2, inputTokens: result.tokensUsed.input, outputTokens: result.tokensUsed.output, costUsd: turn.costUsd ?? 0 },
  });
}

function messagesOf({ turnId, sessionKey, message, createdAt, result, finishedAt }: TurnDocument, from: number): MessageDocument[] {
  if (!result) return [];
  const { response, tokensUsed, finishReason } = result;
  const common = { sessionKey, turnId };
  return [
    { ...common, id: `${turnId}/0`, seq: from, role: 'user', content: message, timestamp: createdAt },
    {
      ...common,
      id: `${turnId}/1`,
      seq: from + 1,
      role: 'assistant',
      content: response,
      timestamp: finishedAt ?? createdAt,
      tokensUsed,
      finishReason,
    },
  ];
}

/**
 * An error as the readers of a turn see it. Asking again would repeat what its tools did, and under its own key would only be told
 * of this failure again.
 */
export function toFailure(error: unknown, { turnId, idempotencyKey, steps }: TurnDocument): TurnFailure {
  if (!(error instanceof ServiceError)) return { code: 'INTERNAL', message: 'Internal error', details: { turnId } };
  // A step is written before the tools that it calls are.
  const final = steps.length > 0 || idempotencyKey !== undefined || !error.retryable;
  return { code: error.code, message: error.message, details: { ...error.details, turnId, ...(final ? { retryable: false } : {}) } };
}

/** Whether somebody else has the turn now. */
export function isFenced(error: unknown): boolean {
  return error instanceof ServiceError && error.details.reason === 'FENCED';
}
