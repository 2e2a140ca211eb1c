import { canUseAgent, createServiceError, ServiceError } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { SessionEffect } from '../sessions/session-effects.ts';
import { parseEntry, waitingFields } from '../model/queue-entry.ts';
import { getEntryGuard, buildSession, type TurnArrival } from '../sessions/new-session.ts';
import { checkSessionName, isDefaultSession, type SessionCreator } from '../model/session-names.ts';
import { sessionNotFound, canSee, sessionTaken, isTakenByOther } from '../model/session-ownership.ts';

/*
 * Writes to a session document. Each is a single-document write with its own guard. A guard that misses changes nothing; the caller reads
 * the document again and acts on what it finds.
 */

/** Owner and duration of a requested lease. */
export interface LeaseRequest {
  owner: string;
  now: number;
  leaseMs: number;
}

/**
 * `taken`: this write also took the lease. `waits`: the turn is the head and no replica holds the lease. `queued`: other turns come first.
 * `there`: the queue already contained the turn.
 */
export type EnqueueResult = { session: SessionDocument; place: 'taken' | 'waits' | 'queued' } | { session?: undefined; place: 'there' };

/** Options that save reads. */
interface EnqueueOptions {
  taker?: LeaseRequest | undefined;
  /** The queue is probably empty, so the write is tried without a preceding read. */
  free?: boolean;
}

/**
 * Appends a turn to its session's queue. With a lease request, an empty queue and a free lease, the same write takes the lease. The first
 * turn creates the session. Without this write the turn would be in no queue until a sweep enqueues it.
 *
 * Throws PERMISSION_DENIED for a name that the client may not use, NOT_FOUND for a client that may not see the session, FAILED_PRECONDITION for a session that is named after the client but was
 * created by another one, and RESOURCE_EXHAUSTED when more than `maxDepth` turns wait.
 */
export async function enqueue(
  sessions: Documents<SessionDocument>,
  arrival: TurnArrival,
  { taker, free = false }: EnqueueOptions = {},
): Promise<EnqueueResult> {
  for (;;) {
    const taken = taker && (await pushWithLease(sessions, arrival, taker));
    if (taken) return { session: taken, place: 'taken' };
    const first = free && !taker ? await push(sessions, arrival, 'waits') : null;
    if (first) return { session: first, place: 'waits' };
    // The read only selects the write to try; the write has its own guard.
    const present = await sessions.get(arrival.key);
    if (present) {
      rejectIfForbidden(present, arrival);
      rejectIfFull(present, arrival);
    }
    if (present && isQueued(present, arrival.entry)) return { place: 'there' };
    const place = present === null && taker ? 'taken' : present !== null && present.depth > 0 ? 'queued' : 'waits';
    const session = present ? await push(sessions, arrival, place) : await create(sessions, arrival, taker);
    if (session) return { session, place };
  }
}

function pushWithLease(sessions: Documents<SessionDocument>, arrival: TurnArrival, taker: LeaseRequest): Promise<SessionDocument | null> {
  const { guard, adopted } = getEntryGuard(arrival);
  return sessions.update(
    { ...guard, depth: 0, leaseUntil: { lte: taker.now } },
    { push: { queue: arrival.entry }, inc: { depth: 1, fence: 1 }, set: { ...adopted, ...leaseFields(taker) } },
  );
}

/** Appends behind other entries, or as the waiting head. */
function push(sessions: Documents<SessionDocument>, arrival: TurnArrival, place: EnqueueResult['place']): Promise<SessionDocument | null> {
  const { entry, maxDepth } = arrival;
  const { guard, adopted } = getEntryGuard(arrival);
  const pushed = { push: { queue: entry }, inc: { depth: 1 } };
  if (place === 'queued') {
    const behind = { ...guard, depth: { gt: 0, lte: maxDepth }, queue: { lacks: entry } };
    return sessions.update(behind, { ...pushed, set: adopted });
  }
  return sessions.update({ ...guard, depth: 0 }, { ...pushed, set: { ...adopted, ...waitingFields(arrival.tenant, parseEntry(entry)) } });
}

/** A client that starts a turn in a session. */
type Entering = SessionCreator & Pick<TurnArrival, 'identity' | 'key'>;

/** Throws unless the client may start turns in an existing session. */
export function rejectIfForbidden(present: SessionDocument, arrival: Entering): void {
  // A name that the client may not create is refused in the same words whether the session exists or not.
  if (canAdopt(arrival, present)) return;
  if (!canSee(arrival, present)) throw checkSessionName(arrival, arrival.identity) ?? sessionNotFound();
  if (isTakenByOther(arrival, present)) throw sessionTaken(arrival.key);
}

/**
 * Returns whether the client takes over a session that is named after it: its default session, which a client with access to all sessions
 * may have created for it, or a session of no client.
 */
function canAdopt({ client, agents, identity }: Entering, { createdBy, agentId }: SessionDocument): boolean {
  const named = identity.userId === client && (createdBy === undefined || isDefaultSession(identity));
  return named && canUseAgent({ agents }, agentId);
}

function rejectIfFull(present: SessionDocument, arrival: TurnArrival): void {
  if (present.depth > arrival.maxDepth && !isQueued(present, arrival.entry)) throw queueFullError(arrival.maxDepth);
}

/** Compares turn ids, because an earlier version may have formatted the entry of the same turn in another way. */
function isQueued({ queue }: SessionDocument, entry: string): boolean {
  const { turnId } = parseEntry(entry);
  return queue.some((queued) => parseEntry(queued).turnId === turnId);
}

/** Returns undefined if another replica created the session first. */
async function create(
  sessions: Documents<SessionDocument>,
  arrival: TurnArrival,
  taker: LeaseRequest | undefined,
): Promise<SessionDocument | undefined> {
  const denied = checkSessionName(arrival, arrival.identity);
  if (denied) throw denied;
  const { session, created } = buildSession(arrival);
  const begun = taker ? leaseFields(taker) : waitingFields(arrival.tenant, parseEntry(arrival.entry));
  try {
    return await sessions.insert({ ...session, ...begun }, { emit: [created] });
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return undefined;
    throw error;
  }
}

export function queueFullError(max: number): ServiceError {
  return createServiceError('RESOURCE_EXHAUSTED', `The queue of this session is full (${max} turns). Retry when a turn has ended.`, {
    details: { reason: 'QUEUE_FULL', retryAfterMs: 1_000 },
  });
}

export function isQueueFull(error: unknown): boolean {
  return error instanceof ServiceError && error.details.reason === 'QUEUE_FULL';
}

function leaseFields({ owner, now, leaseMs }: LeaseRequest) {
  return { owner, leaseUntil: now + leaseMs };
}

/** Maximum clock difference between replicas: a replica may claim what another one has just accepted. */
const MAX_CLOCK_SKEW_MS = 50;

/** Ends the debounce window early. A lost write only costs the rest of the window. */
export async function endDebounce(sessions: Documents<SessionDocument>, key: string, now: number): Promise<void> {
  await sessions.update({ key, leaseUntil: 0, runnableAt: { gt: now } }, { set: { runnableAt: now } });
}

/** Session whose lease was claimed. */
export interface ClaimedSession {
  tenant: string;
  session: SessionDocument;
  /** The previous lease expired without being released, so its holder may have started the queue head. */
  lapsed: boolean;
}

/**
 * Takes the lease of the session that has waited longest among those with one wait key, with one indexed write. Without it two replicas could work
 * on one session. Returns null if no session waits, or none since before `since`. Debounced turns are skipped until their window ends.
 */
export async function claimSession(
  sessions: Collection<SessionDocument>,
  waitsFor: string,
  taker: LeaseRequest,
  since?: number,
): Promise<ClaimedSession | null> {
  const claimed = await sessions
    .system()
    .claim(
      { waitsFor, leaseUntil: { lte: taker.now }, runnableAt: { lte: since ?? taker.now + MAX_CLOCK_SKEW_MS } },
      { set: leaseFields(taker), unset: ['waitsFor', 'runnableAt'], inc: { fence: 1 } },
      { sort: [['runnableAt', 'asc']] },
    );
  if (!claimed) return null;
  const { tenant, ...session } = claimed;
  return { tenant, session, lapsed: session.lapsed === true };
}

/** Key and fence of a held lease. */
export interface LeaseHolder {
  key: string;
  fence: number;
}

/**
 * Extends the lease. Without renewal a long-running holder would be considered dead. Never shortens the lease, because a delayed write
 * must not undo a later one. Returns null if another replica has the lease.
 */
export async function renewLease(
  sessions: Documents<SessionDocument>,
  { key, fence }: LeaseHolder,
  { now, leaseMs }: LeaseRequest,
): Promise<SessionDocument | null> {
  const leaseUntil = now + leaseMs;
  const renewed = await sessions.update({ key, fence, leaseUntil: { gt: 0, lte: leaseUntil } }, { set: { leaseUntil } });
  if (renewed) return renewed;
  const existing = await sessions.get(key);
  return existing?.fence === fence && existing.leaseUntil > leaseUntil ? existing : null;
}

/** Totals that a counted turn adds to its session. */
export interface TurnTotals {
  seq: number;
  epoch: string;
  messages: number;
  chars: number;
  extraChars: number;
  steps: number;
  input: number;
  output: number;
  costUsd: number;
}

export interface DequeueOptions {
  tenant: string;
  /** Session document as last seen by the lease holder. */
  session: SessionDocument;
  /** Queue head, which has ended. */
  entry: string;
  totals: TurnTotals | undefined;
  /** Whether the holder continues with the next entry. */
  keepLease: boolean;
  now: number;
  /** Further change of the session caused by the turn. */
  effect?: SessionEffect | undefined;
}

/**
 * Removes the finished queue head and counts it if it is done and not yet counted. Keeps or releases the lease. Without this write the
 * session would stop and its history would be undefined. Returns null if the session must be reloaded.
 */
export function dequeue(sessions: Documents<SessionDocument>, settling: DequeueOptions): Promise<SessionDocument | null> {
  const { session, entry, totals: counted, now, effect } = settling;
  const { key, fence, depth } = session;
  const next = session.queue[1];
  const { set, unset } = nextLease(settling, next);
  const totals = counted && {
    messageCount: counted.messages,
    chars: counted.chars,
    extraChars: counted.extraChars,
    inputTokens: counted.input,
    outputTokens: counted.output,
    costUsd: counted.costUsd,
  };
  return sessions.update(
    {
      key,
      fence,
      queue: { has: entry },
      // The lease is released to the next turn only if none arrived meanwhile.
      ...(next === undefined ? { depth: 1 } : { depth: { gte: depth }, ...sameOrderGuard(session) }),
      ...(counted ? { epoch: counted.epoch, lastSeq: { lt: counted.seq } } : {}),
      ...(effect?.gone ? { epoch: effect.gone.epoch } : {}),
    },
    {
      pull: { queue: entry },
      inc: { depth: -1, ...totals },
      set: { ...set, updatedAt: now, ...(counted ? { lastSeq: counted.seq, lastSteps: counted.steps } : {}), ...effect?.set },
      unset: [...unset, ...(effect?.unset ?? [])],
      ...(effect ? { emit: effect.emit } : {}),
    },
  );
}

/** Guards that no entry was removed since the read, so the next entry is still next. */
export function sameOrderGuard({ removedCount }: SessionDocument) {
  return { removedCount: removedCount ?? null };
}

type NextLease = { set: Partial<SessionDocument>; unset: ('waitsFor' | 'runnableAt' | 'lapsed')[] };

function nextLease({ tenant, keepLease }: Pick<DequeueOptions, 'tenant' | 'keepLease'>, next: string | undefined): NextLease {
  if (next === undefined) return { set: { leaseUntil: 0 }, unset: ['waitsFor', 'runnableAt', 'lapsed'] };
  // Only renewal changes the lease expiry.
  if (keepLease) return { set: {}, unset: ['lapsed'] };
  return { set: { leaseUntil: 0, ...waitingFields(tenant, parseEntry(next)) }, unset: ['lapsed'] };
}

export interface ReleaseOptions extends Pick<DequeueOptions, 'tenant' | 'session'> {
  /** The queue head was started. */
  begun: boolean;
  /** The queue head waits for an approval until this time. */
  parkUntil?: number | undefined;
}

/**
 * Releases the lease without a finished turn: because this replica has no capacity, or because the queue is empty. Without it other
 * replicas wait until the lease expires. Returns null if the session must be reloaded.
 */
export function releaseLease(
  sessions: Documents<SessionDocument>,
  { tenant, session, begun, parkUntil }: ReleaseOptions,
): Promise<SessionDocument | null> {
  const { key, fence, depth, queue } = session;
  const [first] = queue;
  const { set } = nextLease({ tenant, keepLease: false }, first);
  const guard = { key, fence, ...(first === undefined ? { depth: 0 } : { depth: { gte: depth }, ...sameOrderGuard(session) }) };
  if (first === undefined) return sessions.update(guard, { set, unset: ['waitsFor', 'runnableAt', 'lapsed'] });
  if (parkUntil !== undefined) return sessions.update(guard, { set: { ...set, runnableAt: parkUntil }, unset: ['lapsed'] });
  return sessions.update(guard, { set: begun ? { ...set, lapsed: true } : set });
}

/** Makes a parked queue head runnable. Returns null if a replica holds the lease or the session has changed. */
export function wakeHead(
  sessions: Documents<SessionDocument>,
  { key, fence, queue }: SessionDocument,
  now: number,
): Promise<SessionDocument | null> {
  return sessions.update({ key, fence, leaseUntil: 0, queue: { has: queue[0] ?? '' } }, { set: { runnableAt: now } });
}

/**
 * Returns an expired lease, so that the session waits for any replica with capacity. Raises the fence, so that the old holder can neither
 * renew nor dequeue. Returns null if the lease was renewed or released meanwhile.
 */
export function expireLease(
  sessions: Documents<SessionDocument>,
  { tenant, session }: Pick<DequeueOptions, 'tenant' | 'session'>,
): Promise<SessionDocument | null> {
  const { key, fence, leaseUntil, queue } = session;
  const [first] = queue;
  const { set, unset } = nextLease({ tenant, keepLease: false }, first);
  const lapsed = first === undefined ? { unset } : { set: { ...set, lapsed: true } };
  return sessions.update(
    { key, fence, leaseUntil, depth: queue.length, ...sameOrderGuard(session) },
    { set, ...lapsed, inc: { fence: 1 } },
  );
}
