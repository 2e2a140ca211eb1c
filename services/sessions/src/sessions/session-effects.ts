import type { OutboxEvent } from '@switchyard/store';
import type { Effect, GoneDocument, SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { emptied } from './session-reset.ts';
import { sessionKeyObject } from './new-session.ts';
import { parseSessionKey } from '../model/session-key.ts';

/** Further changes of the write that dequeues a turn. */
export interface Effected {
  set: Partial<SessionDocument>;
  unset?: readonly ('roots' | 'compactUntil' | 'compactSeq' | 'label')[];
  emit: readonly OutboxEvent[];
  /** Epoch that ends with the write, which is guarded by it. */
  gone?: GoneDocument;
}

/**
 * Returns how a turn changes its session besides being counted; undefined if not at all, or if the effect was applied before: a delayed
 * write may enqueue a finished turn again.
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

/** The latest label wins, whichever turn is dequeued later. */
function labelled({ at, text }: NonNullable<Effect['label']>, { labelledAt = 0 }: SessionDocument): Effected | undefined {
  if (at <= labelledAt) return undefined;
  return text === undefined ? { set: { labelledAt: at }, unset: ['label'], emit: [] } : { set: { label: text, labelledAt: at }, emit: [] };
}

/** A budget applies to one turn that calls a model. */
function usedUp({ seq }: TurnDocument, { prefers, lastSeq }: SessionDocument): Effected | undefined {
  if (prefers?.budget === undefined || seq === undefined || seq <= lastSeq) return undefined;
  const { budget: _used, ...rest } = prefers;
  return { set: { prefers: rest }, emit: [] };
}
