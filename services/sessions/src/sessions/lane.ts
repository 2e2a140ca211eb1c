import { ServiceError } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { noSuchSession, seenBy, sees, sessionTaken, takenBefore, type Viewer } from './ownership.ts';
import { formatSessionKey, parseSessionKey, type SessionIdentity } from './session-key.ts';

export interface Place {
  session: SessionDocument;
  /**
   * Orders the turns of the session. The first number is the time the session was made, so that a turn that was accepted while its
   * session was deleted is still before those accepted later.
   */
  seq: number;
  /** Whether this turn now holds the lane. */
  holdsLane: boolean;
}

export interface Arrival extends Viewer {
  identity: SessionIdentity;
  agentId: string;
  turnId: string;
  /** Take the lane if nobody has it. */
  wantsLane: boolean;
  now: number;
}

/**
 * Gives a turn its number in the session, and the lane if it is free; the first turn makes the session. One atomic write, in which
 * a client that is held to its own sessions enters no other: NOT_FOUND, also when somebody else makes it at the same time. Nobody
 * enters a session that has its own name on it and was made by somebody else: FAILED_PRECONDITION.
 */
export async function enter(sessions: Documents<SessionDocument>, arrival: Arrival): Promise<Place> {
  const key = formatSessionKey(arrival.identity);
  for (;;) {
    const present = await sessions.get(key);
    if (present && !sees(arrival, present)) throw noSuchSession();
    if (present && takenBefore(arrival, present)) throw sessionTaken(key);
    const place = present ? await numberIn(sessions, present, arrival) : await create(sessions, key, { ...arrival, seq: arrival.now });
    if (place) return place;
  }
}

async function numberIn(sessions: Documents<SessionDocument>, present: SessionDocument, arrival: Arrival): Promise<Place | undefined> {
  const { turnId, now } = arrival;
  const inc = { nextTurnSeq: 1 };
  const found = adopted(arrival, present);
  // The maker as it was seen: a session that changes hands meanwhile is looked at again.
  const maker = present.createdBy === undefined ? {} : { createdBy: present.createdBy };
  const entered = { key: present.key, ...maker, ...seenBy(arrival) };
  if (arrival.wantsLane) {
    const set = { activeTurn: turnId, activeSince: now, updatedAt: now, ...found };
    const taken = await sessions.update({ ...entered, activeTurn: null }, { inc, set });
    if (taken) return { session: taken, seq: taken.nextTurnSeq - 1, holdsLane: true };
  }
  const session = await sessions.update(entered, { inc, set: { updatedAt: now, ...found } });
  return session ? { session, seq: session.nextTurnSeq - 1, holdsLane: false } : undefined;
}

/** A session of before makers were remembered, in which the client now speaks under its own name, is the client's from now on. */
function adopted({ client, sessions }: Arrival, { createdBy, userId }: SessionDocument): { createdBy?: string } {
  return createdBy === undefined && userId === client && sessions !== 'own' ? { createdBy: client } : {};
}

/** Undefined when somebody else was first. */
async function create(
  sessions: Documents<SessionDocument>,
  key: string,
  { identity, agentId, turnId, client, wantsLane, now, seq }: Arrival & { seq: number },
): Promise<Place | undefined> {
  const session: SessionDocument = {
    key,
    agentId,
    userId: identity.userId,
    channelId: identity.channelId,
    ...(identity.guildId === undefined ? {} : { guildId: identity.guildId }),
    kind: identity.guildId === undefined ? 'dm' : 'group',
    activeTurn: wantsLane ? turnId : null,
    activeSince: now,
    nextTurnSeq: seq + 1,
    messageCount: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    lastSteps: 0,
    createdBy: client,
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
  return { session, seq, holdsLane: wantsLane };
}

/** What came of asking for the lane: it is this turn's since now, it was already, or somebody else has it. */
export type Grant = 'taken' | 'held' | 'refused';

/** Gives the lane to a turn that waits. A session that was deleted between two writes of its acceptance begins anew with it. */
export async function grantLane(
  sessions: Documents<SessionDocument>,
  { turnId, sessionKey, agentId, client, seq }: TurnDocument,
  now: number,
): Promise<Grant> {
  const granted = await sessions.update({ key: sessionKey, activeTurn: null }, { set: { activeTurn: turnId, activeSince: now } });
  if (granted) return 'taken';
  const present = await sessions.get(sessionKey);
  if (present) return present.activeTurn === turnId ? 'held' : 'refused';
  const identity = parseSessionKey(sessionKey);
  if (!identity) throw new ServiceError('INTERNAL', 'a turn waits in a session whose key cannot be read');
  return (await create(sessions, sessionKey, { identity, agentId, turnId, client, wantsLane: true, now, seq })) ? 'taken' : 'refused';
}

/** Gives a session's lane back, if it is still held by this one. */
export async function freeLane(sessions: Documents<SessionDocument>, key: string, holder: string): Promise<void> {
  await sessions.update({ key, activeTurn: holder }, { set: { activeTurn: null } });
}

/** A session key as events carry it. */
export function sessionKeyObject(identity: SessionIdentity): Record<string, string> {
  const { tenant, ...parts } = identity;
  return { tenantId: tenant, ...parts };
}
