import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import type { SessionDocument } from '../data.ts';
import { formatSessionKey, type SessionIdentity } from './session-key.ts';

export interface Place {
  session: SessionDocument;
  /** Orders the turns of the session. */
  seq: number;
  /** Whether this turn now holds the lane. */
  holdsLane: boolean;
}

export interface Arrival {
  identity: SessionIdentity;
  agentId: string;
  turnId: string;
  principal: Principal;
  /** Take the lane if nobody has it. */
  wantsLane: boolean;
  now: number;
}

/** Gives a turn its number in the session, and the lane if it is free; the first turn makes the session. One atomic write. */
export async function enter(sessions: Documents<SessionDocument>, arrival: Arrival): Promise<Place> {
  const key = formatSessionKey(arrival.identity);
  for (;;) {
    const present = await sessions.get(key);
    const place = present ? await numberIn(sessions, present, arrival) : await create(sessions, key, arrival);
    if (place) return place;
  }
}

async function numberIn(sessions: Documents<SessionDocument>, present: SessionDocument, arrival: Arrival): Promise<Place | undefined> {
  const { turnId, principal, now } = arrival;
  const known = present.clients.includes(principal.client);
  const change = { inc: { nextTurnSeq: 1 }, ...(known ? {} : { push: { clients: principal.client } }) };
  if (arrival.wantsLane) {
    const taken = await sessions.update({ key: present.key, activeTurn: null }, { ...change, set: { activeTurn: turnId, updatedAt: now } });
    if (taken) return { session: taken, seq: taken.nextTurnSeq - 1, holdsLane: true };
  }
  const session = await sessions.update({ key: present.key }, { ...change, set: { updatedAt: now } });
  return session ? { session, seq: session.nextTurnSeq - 1, holdsLane: false } : undefined;
}

async function create(sessions: Documents<SessionDocument>, key: string, arrival: Arrival): Promise<Place | undefined> {
  const { identity, now } = arrival;
  const session: SessionDocument = {
    key,
    agentId: arrival.agentId,
    userId: identity.userId,
    channelId: identity.channelId,
    ...(identity.guildId === undefined ? {} : { guildId: identity.guildId }),
    activeTurn: arrival.wantsLane ? arrival.turnId : null,
    nextTurnSeq: 1,
    messageCount: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    lastSteps: 0,
    clients: [arrival.principal.client],
    metadata: {},
    createdAt: now,
    updatedAt: now,
  };
  const created = { name: 'session:created', payload: { sessionKey: sessionKeyObject(identity), timestamp: now } };
  try {
    await sessions.insert(session, { emit: [created] });
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return undefined;
    throw error;
  }
  return { session, seq: 0, holdsLane: arrival.wantsLane };
}

/** A session key as events carry it (facts 10.2). */
export function sessionKeyObject(identity: SessionIdentity): Record<string, string> {
  const { tenant, ...parts } = identity;
  return { tenantId: tenant, ...parts };
}
