import type { OutboxEvent } from '@switchyard/store';
import type { Effect, EndedEpochDocument, SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { newEpochChange } from './session-reset.ts';
import { sessionKeyObject } from './new-session.ts';
import { parseSessionKey } from '../model/session-key.ts';

/** Further changes of the write that dequeues a turn. */
export interface SessionEffect {
  set: Partial<SessionDocument>;
  unset?: readonly ('roots' | 'compactUntil' | 'compactSeq' | 'label')[];
  emit: readonly OutboxEvent[];
  /** Epoch that ends with the write, which is guarded by it. */
  gone?: EndedEpochDocument;
}

/**
 * Returns how a turn changes its session besides being counted; undefined if not at all, or if the effect was applied before: a delayed
 * write may enqueue a finished turn again.
 */
export function getSessionEffect(
  tenant: string,
  { turn, session, now }: { turn: TurnDocument | undefined; session: SessionDocument; now: number },
): SessionEffect | undefined {
  if (turn?.state !== 'done') return undefined;
  const { effect } = turn;
  if (!effect) return consumeBudget(turn, session);
  if (effect.label) return applyLabel(effect.label, session);
  const { preferences } = effect;
  const chosen = preferences && preferences.at > (session.preferences?.at ?? 0) ? { preferences } : {};
  if (!effect.resets || turn.epoch !== session.epoch) return preferences ? { set: chosen, emit: [] } : undefined;
  const { key, userId, channelId, epoch } = session;
  const identity = parseSessionKey(key) ?? { tenant, userId, channelId };
  const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason: 'gateway-reset' } };
  return { ...newEpochChange(now, [expired]), gone: { epoch, sessionKey: key, at: now } };
}

/** The latest label wins, whichever turn is dequeued later. */
function applyLabel({ at, text }: NonNullable<Effect['label']>, { labelledAt = 0 }: SessionDocument): SessionEffect | undefined {
  if (at <= labelledAt) return undefined;
  return text === undefined ? { set: { labelledAt: at }, unset: ['label'], emit: [] } : { set: { label: text, labelledAt: at }, emit: [] };
}

/** A budget applies to one turn that calls a model. */
function consumeBudget({ seq }: TurnDocument, { preferences, lastSeq }: SessionDocument): SessionEffect | undefined {
  if (preferences?.budget === undefined || seq === undefined || seq <= lastSeq) return undefined;
  const { budget: _used, ...rest } = preferences;
  return { set: { preferences: rest }, emit: [] };
}
