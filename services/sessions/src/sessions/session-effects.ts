import type { OutboxEvent } from '@switchyard/store';
import type { Effect, EndedEpochDocument, SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { newEpochChange } from './session-reset.ts';
import { sessionKeyObject } from './new-session.ts';
import { parseSessionKey } from '../model/session-key.ts';

/** What else the write changes that takes a turn out of its session's queue. */
export interface SessionEffect {
  set: Partial<SessionDocument>;
  unset?: readonly ('roots' | 'compactUntil' | 'compactSeq' | 'label')[];
  emit: readonly OutboxEvent[];
  /** The epoch that ends, which nobody else may have ended before. */
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

/** The one that was given last stays, whichever turn leaves the queue later. */
function applyLabel({ at, text }: NonNullable<Effect['label']>, { labelledAt = 0 }: SessionDocument): SessionEffect | undefined {
  if (at <= labelledAt) return undefined;
  return text === undefined ? { set: { labelledAt: at }, unset: ['label'], emit: [] } : { set: { label: text, labelledAt: at }, emit: [] };
}

/** A budget is for one turn that asks a model. */
function consumeBudget({ seq }: TurnDocument, { preferences, lastSeq }: SessionDocument): SessionEffect | undefined {
  if (preferences?.budget === undefined || seq === undefined || seq <= lastSeq) return undefined;
  const { budget: _used, ...rest } = preferences;
  return { set: { preferences: rest }, emit: [] };
}
