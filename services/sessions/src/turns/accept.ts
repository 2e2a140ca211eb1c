import { createHash } from 'node:crypto';
import { ServiceError, type Principal, type TokenScope, type TurnId } from '@switchyard/contracts';
import type { ModelRef, Models } from '@switchyard/models';
import { newWork } from '@switchyard/service-kit';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { z } from 'zod';
import type { Agent, AgentDirectory } from '../agents.ts';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { enter, sessionKeyObject } from '../sessions/lane.ts';
import { formatSessionKey, resolveSession, type SessionAddress, type SessionIdentity } from '../sessions/session-key.ts';
import { agentGone, agentSuspended } from './endings.ts';
import { modelOf } from './plan.ts';

export interface TurnRequest {
  turnId: z.infer<typeof TurnId>;
  message: string;
  agentId?: string | undefined;
  session?: SessionAddress;
  scopes?: readonly TokenScope[] | undefined;
  idempotencyKey?: string | undefined;
}

export interface Accepted {
  turn: TurnDocument;
  /** True when the idempotency key named a turn that was there already. */
  replayed: boolean;
  holdsLane: boolean;
  agent: Agent;
  /** The model it will speak with. */
  model: ModelRef;
}

export interface AcceptDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  agents: AgentDirectory;
  models: Models;
  store: Pick<Store, 'now'>;
  /** Turns that may be unfinished in one session before the next is refused. */
  maxDepth: number;
  /** Whether this replica could run the turn at once. */
  hasRoom: (agent: Agent) => boolean;
}

/**
 * Writes the turn before anybody says `accepted` (ARCHITECTURE 5.1). A known idempotency key gives the turn it named:
 * attach if it runs, replay if it is done, refuse if the body differs.
 */
export async function accept(deps: AcceptDeps, request: TurnRequest, principal: Principal): Promise<Accepted> {
  const { identity, agent } = whoAndWhere(deps.agents, request, principal);
  const turns = deps.turns.for(principal);
  const fingerprint = fingerprintOf(request, identity);
  const idempotencyKey = request.idempotencyKey === undefined ? undefined : `${principal.client}:${request.idempotencyKey}`;
  const earlier = idempotencyKey === undefined ? undefined : await findKey(turns, idempotencyKey);
  const model = await modelOf(agent, deps.models);
  if (earlier) return replay(earlier, fingerprint, { agent, model });
  if (agent.suspended) throw agentSuspended(agent.agentId);

  const waiting = await turns.find(
    { sessionKey: formatSessionKey(identity), state: { in: ['queued', 'running'] } },
    { limit: deps.maxDepth + 1 },
  );
  if (waiting.items.length > deps.maxDepth) {
    throw new ServiceError('RESOURCE_EXHAUSTED', `This session has ${deps.maxDepth} turns waiting; try again when one has ended.`, {
      details: { reason: 'QUEUE_FULL', retryAfterMs: 1_000 },
    });
  }
  const now = deps.store.now();
  const wantsLane = waiting.items.length === 0 && deps.hasRoom(agent);
  const place = await enter(deps.sessions.for(principal), {
    identity,
    agentId: agent.agentId,
    turnId: request.turnId,
    principal,
    wantsLane,
    now,
  });
  const turn: TurnDocument = {
    ...newWork(),
    turnId: request.turnId,
    sessionKey: place.session.key,
    seq: place.seq,
    agentId: agent.agentId,
    message: request.message,
    client: principal.client,
    scopes: narrowed(principal.scopes, request.scopes),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    fingerprint,
    steps: [],
    createdAt: now,
  };
  try {
    await turns.insert(turn, { emit: [received(turn, identity, now)] });
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS') || idempotencyKey === undefined) throw error;
    await deps.sessions.for(principal).update({ key: place.session.key, activeTurn: turn.turnId }, { set: { activeTurn: null } });
    const other = await findKey(turns, idempotencyKey);
    if (!other) throw error;
    return replay(other, fingerprint, { agent, model });
  }
  return { turn, replayed: false, holdsLane: place.holdsLane, agent, model };
}

async function findKey(turns: Documents<TurnDocument>, idempotencyKey: string): Promise<TurnDocument | undefined> {
  return (await turns.find({ idempotencyKey }, { limit: 1 })).items[0];
}

function whoAndWhere(agents: AgentDirectory, request: TurnRequest, principal: Principal): { identity: SessionIdentity; agent: Agent } {
  const named = request.agentId ?? principal.agent;
  const standard = agents.default(principal.tenant);
  const identity = resolveSession(request.session, principal, named === standard.agentId ? undefined : named);
  const agentId = named ?? identity.agentId ?? standard.agentId;
  const agent = agents.find(principal.tenant, agentId);
  if (agent) return { identity, agent };
  if (named !== undefined) {
    throw new ServiceError('INVALID_ARGUMENT', `Unknown agent: ${agentId}`, { details: { reason: 'UNKNOWN_AGENT' } });
  }
  throw agentGone(agentId);
}

function replay(turn: TurnDocument, fingerprint: string, who: Pick<Accepted, 'agent' | 'model'>): Accepted {
  if (turn.fingerprint !== fingerprint) {
    throw new ServiceError('INVALID_ARGUMENT', 'This idempotency key was used for another request.', {
      details: { reason: 'IDEMPOTENCY_MISMATCH', turnId: turn.turnId },
    });
  }
  return { turn, replayed: true, holdsLane: false, ...who };
}

function fingerprintOf(request: TurnRequest, identity: SessionIdentity): string {
  const said = [request.message, request.agentId ?? null, request.scopes ?? null, formatSessionKey(identity)];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url');
}

/** What a caller asks for can only narrow what its token holds. */
function narrowed(held: readonly TokenScope[], asked: readonly TokenScope[] | undefined): TokenScope[] {
  if (!asked) return [...held];
  return held.includes('*') ? [...asked] : asked.filter((scope) => held.includes(scope));
}

function received(turn: TurnDocument, identity: SessionIdentity, now: number): { name: string; payload: unknown } {
  return {
    name: 'message:received',
    payload: {
      message: {
        id: turn.turnId,
        channelId: identity.channelId,
        channelType: identity.channelId,
        senderId: turn.client,
        text: turn.message,
        timestamp: now,
        attachments: [],
        metadata: {},
      },
      sessionKey: sessionKeyObject(identity),
    },
  };
}
