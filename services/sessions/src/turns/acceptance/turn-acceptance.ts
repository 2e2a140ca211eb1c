import {
  canUseAgent,
  ServiceError,
  SessionKey,
  type Principal,
  type TokenScope,
  type TurnContext,
  type TurnId,
} from '@switchyard/contracts';
import type { ModelRef, Models } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { z } from 'zod';
import type { Agent, AgentDirectory } from '../../agents/agent-directory.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import { type TurnDocument, type TurnOrder, newTurnFields } from '../../model/turn-document.ts';
import { storeText } from '../../model/stored-text.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import { narrowScopes } from '../../model/turn-principal.ts';
import { DAY_MS } from '../../model/retention.ts';
import { formatEntry } from '../../model/queue-entry.ts';
import {
  enqueue,
  isQueueFull,
  queueFullError,
  rejectIfForbidden,
  type EnqueueResult,
  type LeaseRequest,
} from '../../queue/session-queue.ts';
import type { TurnArrival } from '../../sessions/new-session.ts';
import { canFollow, sessionNotFound } from '../../model/session-ownership.ts';
import type { Overflow, QueuedTurnRef } from '../../queue/queue-policy.ts';
import { resolveSession, type SessionAddress, type SessionIdentity } from '../../model/session-key.ts';
import { agentDeleted, agentSuspended } from '../store/turn-errors.ts';
import { parseMessage } from '../../commands/command-parser.ts';
import { startDebounce, remainingWindowMs, type DebounceWindow, type DebounceDeps } from '../../queue/debounce.ts';
import { findTurnByKey, fingerprintRequest, reloadTurn, scopeKey } from '../store/idempotency-key.ts';
import { requireIds, resolveSessionTarget, type SessionTargetDeps } from './session-target.ts';
import { findTurnModel } from '../../agents/agent-model.ts';
import { receivedEvent } from './received-event.ts';
import { discardRejected } from './rejected-turn.ts';
import type { Slot } from '../../queue/concurrency-slots.ts';

export interface TurnRequest {
  /** Called method. The same idempotency key identifies different turns for different methods. */
  method: 'agent.execute' | 'session.send' | 'turns.start' | 'turns.order';
  turnId: z.infer<typeof TurnId>;
  message: string;
  agentId?: string | undefined;
  session?: SessionAddress;
  scopes?: readonly TokenScope[] | undefined;
  idempotencyKey?: string | undefined;
  /** Name of the requested model. */
  model?: string | undefined;
  timeoutMs?: number | undefined;
  /** Set when another service orders the turn, with the tools that the order leaves to it. */
  order?: TurnOrder;
  context?: readonly TurnContext[] | undefined;
  tools?: TurnDocument['tools'];
  /** Ids of the request. */
  origin?: { requestId: string; traceparent: string | undefined };
}

/** Insert attempts when the conflicting idempotency key disappears before it can be read. */
const MAX_INSERT_ATTEMPTS = 5;

/** A new turn, or the existing turn of the idempotency key. */
export type AcceptedTurn =
  | { turn: TurnDocument; replayed: true; waits: boolean }
  | {
      turn: TurnDocument;
      replayed: false;
      agent: Agent;
      /** Undefined while the keys of the providers cannot be read. The runner resolves it then. */
      model: ModelRef | undefined;
      waits: boolean;
      /** Remaining debounce window in milliseconds. */
      debounceMs?: number;
      started?: { session: SessionDocument; slot: Slot; since: number };
    };

export interface AcceptTurnDeps extends DebounceDeps, SessionTargetDeps {
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  models: Models;
  clock: Clock;
  newLeaseRequest: () => LeaseRequest;
  /** Returns the queue limit of a session and the overflow policy. */
  getOverflow: (turn: QueuedTurnRef) => Overflow;
  /** Frees a place in a full queue; undefined when the new turn is rejected instead. */
  makeRoom: (turn: TurnDocument) => Promise<TurnDocument | undefined>;
  /** Reserves a slot if this replica can run the turn now and no other turn waits for the agent. */
  reserve: (agent: Agent, lane: string | undefined) => Slot | undefined;
  /** Returns the lane of a turn; undefined when lanes are not configured. */
  getLane: (identity: SessionIdentity, principal: Principal, order?: TurnOrder) => string | undefined;
  unreserve: (slot: Slot) => void;
  /** Throws when the tenant has reached its limit of waiting turns. */
  admitWaiting: () => Promise<Disposable>;
  /** Throws when the limit is already known to be reached and no slot is free. */
  rejectIfTenantFull: (agent: Agent, lane: string | undefined) => void;
  /** Throws when the caller or its tenant has reached the storage quota. */
  rejectIfStorageFull: () => void;
  /** Returns whether turns probably wait in the session. The queue is then checked before anything is written. */
  isBusy: (sessionKey: string) => boolean;
  /** Runs acceptances of one session sequentially, in order of arrival. */
  runExclusive: <T>(sessionKey: string, work: () => Promise<T>) => Promise<T>;
}

/**
 * Writes the turn and its queue entry before the caller is told that it was accepted (docs/decisions/0009). A known idempotency key
 * returns the existing turn: its state while it runs, its result when it is done, an error when the request differs.
 */
export async function acceptTurn(deps: AcceptTurnDeps, request: TurnRequest, principal: Principal): Promise<AcceptedTurn> {
  const requested = resolveRequest(deps, request, principal);
  rejectIfOverloaded(deps, requested);
  return deps.runExclusive(requested.sessionKey, async () => {
    const earlier = await findTurnByKey(deps, requested);
    if (earlier) {
      if (!(await canFollow(deps.sessions, principal, earlier))) throw sessionNotFound();
      return replay(deps, requested, earlier);
    }
    const agent = resolveAgent(deps.agents, requested);
    const model = await findTurnModel(agent, deps.models, request.model);
    return writeTurn(deps, requested, { agent, model });
  });
}

/**
 * Rejects the request before any database access when the tenant's limit is reached. Skipped for requests with an idempotency key, which
 * may replay an existing turn.
 */
function rejectIfOverloaded(
  { agents, rejectIfTenantFull }: AcceptTurnDeps,
  { principal, agentId, lane, idempotencyKey }: ResolvedRequest,
): void {
  const agent = idempotencyKey === undefined ? agents.find(principal.tenant, agentId) : undefined;
  if (agent && !agent.suspended) rejectIfTenantFull(agent, lane);
}

/** Request with its session, agent and lane resolved. */
export interface ResolvedRequest {
  request: TurnRequest;
  principal: Principal;
  identity: SessionIdentity;
  sessionKey: string;
  /** Agent named by the request, and the agent that answers. */
  named: string | undefined;
  agentId: string;
  lane: string | undefined;
  /** Digest of the request, to detect another request under the same key. */
  fingerprint: () => string;
  idempotencyKey: string | undefined;
}

export function resolveRequest(deps: AcceptTurnDeps, request: TurnRequest, principal: Principal): ResolvedRequest {
  const { named, standard, identity, key: sessionKey } = resolveSessionTarget(deps, request, principal);
  if (!SessionKey.safeParse(sessionKey).success) throw new ServiceError('INVALID_ARGUMENT', 'The session key is too long.');
  requireIds(identity, principal);
  const { method, idempotencyKey: key } = request;
  return {
    request,
    principal,
    identity,
    sessionKey,
    named,
    agentId: named ?? identity.agentId ?? standard,
    lane: deps.getLane(identity, principal, request.order),
    fingerprint: () => fingerprintRequest(request, sessionKey),
    idempotencyKey: key === undefined ? undefined : scopeKey({ principal, method, key }),
  };
}

function resolveAgent(agents: AgentDirectory, { principal, named, agentId }: ResolvedRequest): Agent {
  const agent = canUseAgent(principal, agentId) ? agents.find(principal.tenant, agentId) : undefined;
  if (!agent && named !== undefined) {
    throw new ServiceError('INVALID_ARGUMENT', `Unknown agent: ${agentId}`, { details: { reason: 'UNKNOWN_AGENT' } });
  }
  if (!agent) throw agentDeleted(agentId);
  if (agent.suspended) throw agentSuspended(agentId);
  return agent;
}

/** Replays an existing turn. Enqueues it again if the replica that accepted it died before enqueueing it. */
async function replay(deps: AcceptTurnDeps, request: ResolvedRequest, turn: TurnDocument): Promise<AcceptedTurn> {
  if (turn.fingerprint !== request.fingerprint()) {
    throw new ServiceError('INVALID_ARGUMENT', 'This idempotency key was used for another request.', {
      details: { reason: 'IDEMPOTENCY_MISMATCH', turnId: turn.turnId },
    });
  }
  if (turn.state !== 'queued') return { turn, replayed: true, waits: false };
  const { place } = await enqueueWithOverflow(deps, turn, (existing) => enqueueStored(deps, request.principal.tenant, existing));
  return { turn, replayed: true, waits: place === 'waits' };
}

/** Enqueues a stored turn, unless it is in the queue already. */
export async function enqueueStored(
  deps: Pick<AcceptTurnDeps, 'sessions' | 'store' | 'getOverflow'>,
  tenant: string,
  turn: TurnDocument,
): Promise<EnqueueResult> {
  const { sessionKey: key, agentId, client, sessions, order } = turn;
  const identity = resolveSession(key, { tenant, client, scopes: [] }, undefined);
  const arrival = {
    tenant,
    key,
    identity,
    agentId,
    client,
    sessions,
    orderedBy: order?.origin.service,
    entry: formatEntry(turn),
    maxDepth: deps.getOverflow(turn).maxDepth,
    now: deps.store.now(),
  };
  return enqueue(deps.sessions.for({ tenant }), arrival);
}

interface Responder {
  agent: Agent;
  model: ModelRef | undefined;
}

async function writeTurn(deps: AcceptTurnDeps, request: ResolvedRequest, who: Responder): Promise<AcceptedTurn> {
  const isCommand = (): boolean => parseMessage(request.request.message)?.command !== undefined;
  // A command may reset a session, which frees storage.
  if (!isCommand()) deps.rejectIfStorageFull();
  await rejectEarly(deps, request);
  const { tenant } = request.principal;
  const scan = startDebounce(deps, { tenant, sessionKey: request.sessionKey, isCommand });
  const window = scan && (await scan);
  const slot = window?.until === undefined ? deps.reserve(who.agent, request.lane) : undefined;
  let used = false;
  try {
    using _admitted = slot ? undefined : await admitWaiting(deps, who.agent, request.lane);
    const written = { ...(await createTurn(deps, request)), ...(window?.until === undefined ? {} : { debounceUntil: window.until }) };
    const existing = await insert(deps, request, written);
    if (existing) return await replay(deps, request, existing);
    const since = deps.clock.now();
    const {
      place,
      session,
      turn: entered,
    } = await enqueueNew(deps, request, { turn: written, taker: slot && deps.newLeaseRequest(), gathering: window });
    used = slot !== undefined && place === 'taken';
    const turn = used ? await reloadTurn(deps, request, entered) : entered;
    const started = slot && used && session ? { started: { session, slot, since } } : {};
    const gathers = window?.until && session ? { debounceMs: await remainingWindowMs(deps, tenant, session, window) } : {};
    return { turn, replayed: false, ...who, waits: place === 'waits', ...gathers, ...started };
  } finally {
    if (slot && !used) deps.unreserve(slot);
  }
}

/** Rejects a caller at the limit with the time until the next count, as `rejectIfTenantFull` does for later callers. */
async function admitWaiting(
  { admitWaiting: admit, rejectIfTenantFull }: AcceptTurnDeps,
  agent: Agent,
  lane: string | undefined,
): Promise<Disposable> {
  try {
    return await admit();
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'RESOURCE_EXHAUSTED') rejectIfTenantFull(agent, lane);
    throw error;
  }
}

/**
 * Rejects the turn before anything is written if the session is probably full, so that a rejection costs one read. The guard of `enqueue`
 * decides.
 */
async function rejectEarly(
  { sessions, isBusy, getOverflow }: AcceptTurnDeps,
  { request: { order }, principal, identity, sessionKey, agentId }: ResolvedRequest,
): Promise<void> {
  if (principal.sessions !== 'own' && principal.agents === undefined && !isBusy(sessionKey)) return;
  const session = await sessions.for(principal).get(sessionKey);
  if (!session) return;
  rejectIfForbidden(session, { ...principal, identity, key: sessionKey, orderedBy: order?.origin.service });
  const { maxDepth, policy } = getOverflow({ sessionKey, agentId });
  if (policy === 'drop-new' && session.depth > maxDepth) throw queueFullError(maxDepth);
}

/** Enqueues a new turn. A rejected turn is removed again. */
async function enqueueNew(
  deps: AcceptTurnDeps,
  { principal, identity, sessionKey: key, agentId }: ResolvedRequest,
  { turn, taker, gathering }: { turn: TurnDocument; taker: LeaseRequest | undefined; gathering: DebounceWindow | undefined },
): Promise<EnqueueResult & { turn: TurnDocument }> {
  const { tenant, client, sessions, agents } = principal;
  const arrival: TurnArrival = {
    ...(agents && { agents }),
    tenant,
    key,
    identity,
    agentId,
    client,
    sessions,
    orderedBy: turn.order?.origin.service,
    entry: formatEntry(turn),
    maxDepth: deps.getOverflow(turn).maxDepth,
    receivedAt: gathering?.receivedAt,
    now: turn.createdAt,
  };
  try {
    return await enqueueWithOverflow(deps, turn, () => enqueue(deps.sessions.for(principal), arrival, { taker, free: !deps.isBusy(key) }));
  } catch (error) {
    const refused = error instanceof ServiceError && error.code !== 'UNAVAILABLE';
    if (refused) await discardRejected(deps.turns.for(principal), turn, { error, now: deps.store.now() });
    throw error;
  }
}

/** Retries as long as a place can be freed. */
async function enqueueWithOverflow(
  { makeRoom }: Pick<AcceptTurnDeps, 'makeRoom'>,
  turn: TurnDocument,
  attempt: (turn: TurnDocument) => Promise<EnqueueResult>,
): Promise<EnqueueResult & { turn: TurnDocument }> {
  for (let newcomer = turn; ;) {
    try {
      return { ...(await attempt(newcomer)), turn: newcomer };
    } catch (error) {
      const next = isQueueFull(error) ? await makeRoom(newcomer) : undefined;
      if (!next) throw error;
      newcomer = next;
    }
  }
}

export async function createTurn({ bodies, store }: AcceptTurnDeps, requested: ResolvedRequest): Promise<TurnDocument> {
  const { request, principal, sessionKey, agentId, lane, idempotencyKey, fingerprint } = requested;
  const now = store.now();
  return {
    turnId: request.turnId,
    sessionKey,
    agentId,
    message: await storeText(bodies.for(principal), request.turnId, request.message),
    client: principal.client,
    sessions: principal.sessions,
    ...(principal.budgets && { budgets: principal.budgets }),
    ...(principal.agents && { agents: [...principal.agents] }),
    scopes: narrowScopes(principal.scopes, request.scopes),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey, keyUntil: now + DAY_MS }),
    fingerprint: fingerprint(),
    ...(request.origin === undefined ? {} : { requestId: request.origin.requestId }),
    ...(request.origin?.traceparent === undefined ? {} : { traceparent: request.origin.traceparent }),
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.timeoutMs === undefined ? {} : { timeoutMs: request.timeoutMs }),
    ...(request.order && { order: request.order, ...(request.tools && { tools: request.tools }) }),
    ...(request.context && { context: await storeText(bodies.for(principal), request.turnId, JSON.stringify(request.context)) }),
    ...(lane === undefined ? {} : { lane }),
    ...(request.method === 'turns.start' ? {} : { quiet: true as const }),
    ...newTurnFields(now),
  };
}

/**
 * Inserts the turn; without it the request would be lost if this process died. It is enqueued next, and the caller is told after that.
 * Returns the existing turn if another replica was first with the same idempotency key or turn id.
 */
async function insert(deps: AcceptTurnDeps, requested: ResolvedRequest, turn: TurnDocument): Promise<TurnDocument | undefined> {
  const { principal, identity, request } = requested;
  const turns = deps.turns.for(principal);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await turns.insert(turn, { emit: [receivedEvent(turn, request.message, identity)], deferSync: true });
      return undefined;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
      const same = await turns.get(turn.turnId);
      const other = (await findTurnByKey(deps, requested)) ?? (same?.client === principal.client ? same : undefined);
      if (other) return other;
      // The turn of the key was rejected meanwhile, or its key expired. The key is free again.
      if (same || attempt === MAX_INSERT_ATTEMPTS) throw error;
    }
  }
}
