import { createHash } from 'node:crypto';
import { CallerId, invalidParams, ServiceError, SessionKey, type Principal, type TokenScope, type TurnId } from '@switchyard/contracts';
import type { ModelRef, Models } from '@switchyard/models';
import { newWork } from '@switchyard/service-kit';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { z } from 'zod';
import type { Agent, AgentDirectory } from '../agents.ts';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { enter, freeLane, sessionKeyObject, type Place } from '../sessions/lane.ts';
import { follows, noSuchSession, sees } from '../sessions/ownership.ts';
import { formatSessionKey, resolveSession, type SessionAddress, type SessionIdentity } from '../sessions/session-key.ts';
import { agentGone, agentSuspended } from './endings.ts';
import { modelOf } from './plan.ts';
import type { Slot } from './slots.ts';

export interface TurnRequest {
  /** What was called: the same idempotency key means another turn with another method. */
  method: 'agent.execute' | 'session.send' | 'turns.start';
  turnId: z.infer<typeof TurnId>;
  message: string;
  agentId?: string | undefined;
  session?: SessionAddress;
  scopes?: readonly TokenScope[] | undefined;
  idempotencyKey?: string | undefined;
  /** The ids of the call that asks for it. */
  origin?: { requestId: string; traceparent: string | undefined };
}

/** A turn that is written now, or one that was there already under the request's idempotency key. */
export type Accepted =
  | { turn: TurnDocument; replayed: true }
  | { turn: TurnDocument; replayed: false; agent: Agent; model: ModelRef; slot?: Slot };

export interface AcceptDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  agents: AgentDirectory;
  models: Models;
  store: Pick<Store, 'now'>;
  /** Turns that may be unfinished in one session before the next is refused. */
  maxDepth: () => number;
  /** The room to run the turn at once, if this replica has it. A turn that is accepted with it holds its session's lane. */
  reserve: (agent: Agent) => Slot | undefined;
  unreserve: (slot: Slot) => void;
  /** Of acceptances in one session one begins when the one before is over, so that their order and their number are certain. */
  inTurn: <T>(sessionKey: string, work: () => Promise<T>) => Promise<T>;
}

/**
 * Writes the turn before anybody says `accepted` (docs/decisions/0005). A known idempotency key gives the turn it named:
 * attach if it runs, replay if it is done, refuse if the body differs.
 */
export async function accept(deps: AcceptDeps, request: TurnRequest, principal: Principal): Promise<Accepted> {
  const asked = ask(deps.agents, request, principal);
  return deps.inTurn(asked.sessionKey, async () => {
    const earlier = await earlierTurn(deps.turns.for(principal), asked);
    if (earlier) {
      if (!(await follows(deps.sessions, principal, earlier))) throw noSuchSession();
      return replay(earlier, asked);
    }
    const agent = agentOf(deps.agents, asked);
    const model = await modelOf(agent, deps.models);
    return { ...(await write(deps, asked, agent)), agent, model };
  });
}

/** A request, once it is known who asks and what is meant. */
interface Asked {
  request: TurnRequest;
  principal: Principal;
  identity: SessionIdentity;
  sessionKey: string;
  /** The agent that was asked for by name, and the one that is meant. */
  named: string | undefined;
  agentId: string;
  fingerprint: string;
  idempotencyKey: string | undefined;
}

function ask(agents: AgentDirectory, request: TurnRequest, principal: Principal): Asked {
  const named = request.agentId ?? principal.agent;
  const standard = agents.default(principal.tenant).agentId;
  const identity = resolveSession(request.session, principal, named === standard ? undefined : named);
  const sessionKey = formatSessionKey(identity);
  if (!SessionKey.safeParse(sessionKey).success) throw new ServiceError('INVALID_ARGUMENT', 'The key of this session would be too long.');
  requireIds(identity, principal);
  const { message, agentId, scopes, method, idempotencyKey: key } = request;
  return {
    request,
    principal,
    identity,
    sessionKey,
    named,
    agentId: named ?? identity.agentId ?? standard,
    fingerprint: digest([message, agentId ?? null, scopes ?? null, sessionKey]),
    // Neither clients nor methods have a space in their names.
    idempotencyKey: key === undefined ? undefined : `${principal.client} ${method} ${key.toWellFormed()}`,
  };
}

/** A key given whole, or a plain channel, was not looked into before: who chooses a session chooses ids. */
function requireIds({ tenant: _tenant, agentId: _agentId, ...parts }: SessionIdentity, { client }: Principal): void {
  const wrong = Object.entries(parts).find(([, part]) => part !== client && !CallerId.safeParse(part).success)?.[0];
  if (wrong === undefined) return;
  const [path, expected] = [`sessionKey.${wrong}`, CallerId.description ?? 'an id'];
  throw invalidParams([{ path, expected, received: 'another string', message: `${path}: expected ${expected}, got another string` }]);
}

function digest(said: unknown): string {
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url');
}

function agentOf(agents: AgentDirectory, { principal, named, agentId }: Asked): Agent {
  const agent = agents.find(principal.tenant, agentId);
  if (!agent && named !== undefined) {
    throw new ServiceError('INVALID_ARGUMENT', `Unknown agent: ${agentId}`, { details: { reason: 'UNKNOWN_AGENT' } });
  }
  if (!agent) throw agentGone(agentId);
  if (agent.suspended) throw agentSuspended(agentId);
  return agent;
}

async function earlierTurn(turns: Documents<TurnDocument>, { idempotencyKey }: Asked): Promise<TurnDocument | undefined> {
  return idempotencyKey === undefined ? undefined : (await turns.find({ idempotencyKey }, { limit: 1 })).items[0];
}

function replay(turn: TurnDocument, { fingerprint }: Asked): Accepted {
  if (turn.fingerprint === fingerprint) return { turn, replayed: true };
  throw new ServiceError('INVALID_ARGUMENT', 'This idempotency key was used for another request.', {
    details: { reason: 'IDEMPOTENCY_MISMATCH', turnId: turn.turnId },
  });
}

type Written = { turn: TurnDocument; replayed: true } | { turn: TurnDocument; replayed: false; slot?: Slot };

async function write(deps: AcceptDeps, asked: Asked, agent: Agent): Promise<Written> {
  const { principal, sessionKey, identity, request } = asked;
  await refuseUnseen(deps, asked);
  const unfinished = await deps.turns.for(principal).count({ sessionKey, state: { in: ['queued', 'running'] } });
  const most = deps.maxDepth();
  if (unfinished > most) throw queueFull(most);
  const slot = unfinished === 0 ? deps.reserve(agent) : undefined;
  let used = false;
  try {
    const { client, sessions } = principal;
    const arrival = { identity, agentId: asked.agentId, turnId: request.turnId, client, sessions };
    const now = deps.store.now();
    const place = await enter(deps.sessions.for(principal), { ...arrival, wantsLane: slot !== undefined, now });
    const turn = toTurn(asked, place.seq, now);
    const there = await insert(deps, asked, { turn, place });
    if (there) return { turn: there, replayed: true };
    used = place.holdsLane;
    return { turn, replayed: false, ...(slot && used ? { slot } : {}) };
  } finally {
    if (slot && !used) deps.unreserve(slot);
  }
}

/** Before anything is said of a session, so that not even its queue tells that it is there. What counts is the check of `enter`. */
async function refuseUnseen({ sessions }: AcceptDeps, { principal, sessionKey }: Asked): Promise<void> {
  if (principal.sessions !== 'own') return;
  const session = await sessions.for(principal).get(sessionKey);
  if (session && !sees(principal, session)) throw noSuchSession();
}

function queueFull(most: number): ServiceError {
  return new ServiceError('RESOURCE_EXHAUSTED', `This session has ${most} turns waiting; try again when one has ended.`, {
    details: { reason: 'QUEUE_FULL', retryAfterMs: 1_000 },
  });
}

function toTurn({ request, principal, sessionKey, agentId, idempotencyKey, fingerprint }: Asked, seq: number, now: number): TurnDocument {
  return {
    ...newWork(),
    turnId: request.turnId,
    sessionKey,
    seq,
    agentId,
    message: request.message,
    client: principal.client,
    sessions: principal.sessions,
    scopes: narrowed(principal.scopes, request.scopes),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    fingerprint,
    ...(request.origin === undefined ? {} : { requestId: request.origin.requestId }),
    ...(request.origin?.traceparent === undefined ? {} : { traceparent: request.origin.traceparent }),
    steps: [],
    createdAt: now,
  };
}

/** Writes the turn. If another replica was first with the same idempotency key or turn id, that turn is given instead. */
async function insert(
  deps: AcceptDeps,
  asked: Asked,
  { turn, place }: { turn: TurnDocument; place: Place },
): Promise<TurnDocument | undefined> {
  const { principal, identity } = asked;
  const turns = deps.turns.for(principal);
  try {
    await turns.insert(turn, { emit: [received(turn, identity)] });
    return undefined;
  } catch (error) {
    const same = await turns.get(turn.turnId);
    // The lane may be held in the name of a turn that has the same id and waits: then it is rightly so.
    const unfinished = same?.state === 'queued' || same?.state === 'running';
    if (place.holdsLane && !unfinished) await freeLane(deps.sessions.for(principal), turn.sessionKey, turn.turnId);
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
    const other = (await earlierTurn(turns, asked)) ?? (same?.client === principal.client ? same : undefined);
    if (!other) throw error;
    replay(other, asked);
    return other;
  }
}

/** What a caller asks for can only narrow what its token holds. */
function narrowed(held: readonly TokenScope[], asked: readonly TokenScope[] | undefined): TokenScope[] {
  if (!asked || asked.includes('*')) return [...held];
  return held.includes('*') ? [...asked] : asked.filter((scope) => held.includes(scope));
}

function received(turn: TurnDocument, identity: SessionIdentity): { name: string; payload: unknown } {
  return {
    name: 'message:received',
    payload: {
      message: {
        id: turn.turnId,
        channelId: identity.channelId,
        channelType: identity.channelId,
        senderId: turn.client,
        text: turn.message,
        timestamp: turn.createdAt,
        attachments: [],
        metadata: {},
      },
      sessionKey: sessionKeyObject(identity),
    },
  };
}
