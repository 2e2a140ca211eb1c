import type { OutboxEvent } from '@switchyard/store';
import type { Effect, GoneDocument, SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { emptied } from './session-reset.ts';
import { sessionKeyObject } from './new-session.ts';
import { parseSessionKey } from '../model/session-key.ts';

/** What else the write changes that takes a turn out of its session's queue. */
export interface Effected {
  set: Partial<SessionDocument>;
  unset?: readonly ('roots' | 'compactUntil' | 'compactSeq' | 'label')[];
  emit: readonly OutboxEvent[];
  /** The epoch that ends, which nobody else may have ended before. */
  gone?: GoneDocument;
}

/**
 * What a turn does to its session besides being counted; undefined where that is nothing, or was done before: a turn that ended may be
 * put into a queue again by a write that came late.
 */
export function effectOf(
  tenant: string,
  { turn, session, now }: { turn: TurnDocument | undefined; session: SessionDocument; now: number },
): Effected | undefined {
  if (turn?.state !== 'done') return undefined;
  const { effect } = turn;
  if (!effect) return usedUp(turn, session);
  if (effect.label) return labelled(effect.label, session);
  const { prefers } = effect;
  const chosen = prefers && prefers.at > (session.prefers?.at ?? 0) ? { prefers } : {};
  if (!effect.resets || turn.epoch !== session.epoch) return prefers ? { set: chosen, emit: [] } : undefined;
  const { key, userId, channelId, epoch } = session;
  const identity = parseSessionKey(key) ?? { tenant, userId, channelId };
  const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason: 'gateway-reset' } };
  return { ...emptied(now, [expired]), gone: { epoch, sessionKey: key, at: now } };
}

/** The one that was given last stays, whichever turn leaves the queue later. */
function labelled({ at, text }: NonNullable<Effect['label']>, { labelledAt = 0 }: SessionDocument): Effected | undefined {
  if (at <= labelledAt) return undefined;
  return text === undefined ? { set: { labelledAt: at }, unset: ['label'], emit: [] } : { set: { label: text, labelledAt: at }, emit: [] };
}

/** A budget is for one turn that asks a model. */
function usedUp({ seq }: TurnDocument, { prefers, lastSeq }: SessionDocument): Effected | undefined {
  if (prefers?.budget === undefined || seq === undefined || seq <= lastSeq) return undefined;
  const { budget: _used, ...rest } = prefers;
  return { set: { prefers: rest }, emit: [] };
}
