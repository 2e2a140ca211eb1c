import { createServiceError, ServiceError } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { Effected } from '../sessions/session-effects.ts';
import { readEntry, waiting } from '../model/queue-entry.ts';
import { mayEnter, newSession, type Arrival } from '../sessions/new-session.ts';
import { noSuchSession, sees, sessionTaken, takenBefore } from '../model/session-ownership.ts';

/*
 * Writes to a session document. Each is a single-document write with its own guard. A guard that misses changes nothing; the caller reads
 * the document again and acts on what it finds.
 */

/** Owner and duration of a requested lease. */
export interface Taker {
  owner: string;
  now: number;
  leaseMs: number;
}

/**
 * `taken`: this write also took the lease. `waits`: the turn is the head and no replica holds the lease. `queued`: other turns come first.
 * `there`: the queue already contained the turn.
 */
export type Entered = { session: SessionDocument; place: 'taken' | 'waits' | 'queued' } | { session?: undefined; place: 'there' };

/** What the caller knows in advance. */
interface Expected {
  taker?: Taker | undefined;
  /** The queue is probably empty, so the write is tried without a preceding read. */
  free?: boolean;
}

/**
 * Appends a turn to its session's queue. With a lease request, an empty queue and a free lease, the same write takes the lease. The first
 * turn creates the session. Without this write the turn would be in no queue until a sweep enqueues it.
 *
 * Throws NOT_FOUND for a client that may not see the session, FAILED_PRECONDITION for a session that is named after the client but was
 * created by another one, and RESOURCE_EXHAUSTED when more than `maxDepth` turns wait.
 */
export async function enter(
  sessions: Documents<SessionDocument>,
  arrival: Arrival,
  { taker, free = false }: Expected = {},
): Promise<Entered> {
  for (;;) {
    const taken = taker && (await pushWithLease(sessions, arrival, taker));
    if (taken) return { session: taken, place: 'taken' };
    const first = free && !taker ? await push(sessions, arrival, 'waits') : null;
    if (first) return { session: first, place: 'waits' };
    // The read only selects the write to try; the write has its own guard.
    const present = await sessions.get(arrival.key);
    if (present) refuse(present, arrival);
    if (present?.queue.includes(arrival.entry)) return { place: 'there' };
    const place = present === null && taker ? 'taken' : present !== null && present.depth > 0 ? 'queued' : 'waits';
    const session = present ? await push(sessions, arrival, place) : await create(sessions, arrival, taker);
    if (session) return { session, place };
  }
}

function pushWithLease(sessions: Documents<SessionDocument>, arrival: Arrival, taker: Taker): Promise<SessionDocument | null> {
  const { guard, adopted } = mayEnter(arrival);
  return sessions.update(
    { ...guard, depth: 0, leaseUntil: { lte: taker.now } },
    { push: { queue: arrival.entry }, inc: { depth: 1, fence: 1 }, set: { ...adopted, ...leased(taker) } },
  );
}

/** Appends behind other entries, or as the waiting head. */
function push(sessions: Documents<SessionDocument>, arrival: Arrival, place: Entered['place']): Promise<SessionDocument | null> {
  const { entry, maxDepth } = arrival;
  const { guard, adopted } = mayEnter(arrival);
  const pushed = { push: { queue: entry }, inc: { depth: 1 } };
  if (place === 'queued') {
    const behind = { ...guard, depth: { gt: 0, lte: maxDepth }, queue: { lacks: entry } };
    return sessions.update(behind, { ...pushed, set: adopted });
  }
  return sessions.update({ ...guard, depth: 0 }, { ...pushed, set: { ...adopted, ...waiting(arrival.tenant, readEntry(entry)) } });
}

function refuse(present: SessionDocument, arrival: Arrival): void {
  if (!sees(arrival, present)) throw noSuchSession();
  if (takenBefore(arrival, present)) throw sessionTaken(arrival.key);
  if (present.depth > arrival.maxDepth && !present.queue.includes(arrival.entry)) throw queueFull(arrival.maxDepth);
}

/** Returns undefined if another replica created the session first. */
async function create(
  sessions: Documents<SessionDocument>,
  arrival: Arrival,
  taker: Taker | undefined,
): Promise<SessionDocument | undefined> {
  const { session, created } = newSession(arrival);
  const begun = taker ? leased(taker) : waiting(arrival.tenant, readEntry(arrival.entry));
  try {
    return await sessions.insert({ ...session, ...begun }, { emit: [created] });
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return undefined;
    throw error;
  }
}

export function queueFull(most: number): ServiceError {
  return createServiceError('RESOURCE_EXHAUSTED', `This session has ${most} turns waiting; try again when one has ended.`, {
    details: { reason: 'QUEUE_FULL', retryAfterMs: 1_000 },
  });
}

export function isQueueFull(error: unknown): boolean {
  return error instanceof ServiceError && error.details.reason === 'QUEUE_FULL';
}

function leased({ owner, now, leaseMs }: Taker) {
  return { owner, leaseUntil: now + leaseMs };
}

/** Maximum clock difference between replicas: a replica may claim what another one has just accepted. */
const EARLY_MS = 50;

/** Ends the debounce window early. A lost write only costs the rest of the window. */
export async function hurry(sessions: Documents<SessionDocument>, key: string, now: number): Promise<void> {
  await sessions.update({ key, leaseUntil: 0, runnableAt: { gt: now } }, { set: { runnableAt: now } });
}

/** Session whose lease was claimed. */
export interface Claimed {
  tenant: string;
  session: SessionDocument;
  /** The previous lease expired without being released, so its holder may have started the queue head. */
  lapsed: boolean;
}

/**
 * Takes the lease of the session that has waited longest for an agent and lane, with one indexed write. Without it two replicas could work
 * on one session. Returns null if no session waits, or none since before `since`. Debounced turns are skipped until their window ends.
 */
export async function claim(
  sessions: Collection<SessionDocument>,
  waitsFor: string,
  taker: Taker,
  since?: number,
): Promise<Claimed | null> {
  const claimed = await sessions
    .system()
    .claim(
      { waitsFor, leaseUntil: { lte: taker.now }, runnableAt: { lte: since ?? taker.now + EARLY_MS } },
      { set: leased(taker), unset: ['waitsFor', 'runnableAt'], inc: { fence: 1 } },
      { sort: [['runnableAt', 'asc']] },
    );
  if (!claimed) return null;
  const { tenant, ...session } = claimed;
  return { tenant, session, lapsed: session.lapsed === true };
}

/** Key and fence of a held lease. */
export interface Holder {
  key: string;
  fence: number;
}

/**
 * Extends the lease. Without renewal a long-running holder would be considered dead. Never shortens the lease, because a delayed write
 * must not undo a later one. Returns null if another replica has the lease.
 */
export async function renew(
  sessions: Documents<SessionDocument>,
  { key, fence }: Holder,
  { now, leaseMs }: Taker,
): Promise<SessionDocument | null> {
  const leaseUntil = now + leaseMs;
  const renewed = await sessions.update({ key, fence, leaseUntil: { gt: 0, lte: leaseUntil } }, { set: { leaseUntil } });
  if (renewed) return renewed;
  const there = await sessions.get(key);
  return there?.fence === fence && there.leaseUntil > leaseUntil ? there : null;
}

/** Totals that a counted turn adds to its session. */
export interface Counted {
  seq: number;
  epoch: string;
  messages: number;
  chars: number;
  steps: number;
  input: number;
  output: number;
  costUsd: number;
}

export interface Settling {
  tenant: string;
  /** Session document as last seen by the lease holder. */
  session: SessionDocument;
  /** Queue head, which has ended. */
  entry: string;
  counted: Counted | undefined;
  /** Whether the holder continues with the next entry. */
  keep: boolean;
  now: number;
  /** Further change of the session caused by the turn. */
  effect?: Effected | undefined;
}

/**
 * Removes the finished queue head and counts it if it is done and not yet counted. Keeps or releases the lease. Without this write the
 * session would stop and its history would be undefined. Returns null if the session must be reloaded.
 */
export function settle(sessions: Documents<SessionDocument>, settling: Settling): Promise<SessionDocument | null> {
  const { session, entry, counted, now, effect } = settling;
  const { key, fence, depth } = session;
  const next = session.queue[1];
  const { set, unset } = onward(settling, next);
  const totals = counted && {
    messageCount: counted.messages,
    chars: counted.chars,
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
      ...(next === undefined ? { depth: 1 } : { depth: { gte: depth }, ...sameOrder(session) }),
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
export function sameOrder({ withdrawn }: SessionDocument) {
  return { withdrawn: withdrawn ?? null };
}

type Onward = { set: Partial<SessionDocument>; unset: ('waitsFor' | 'runnableAt' | 'lapsed')[] };

function onward({ tenant, keep }: Pick<Settling, 'tenant' | 'keep'>, next: string | undefined): Onward {
  if (next === undefined) return { set: { leaseUntil: 0 }, unset: ['waitsFor', 'runnableAt', 'lapsed'] };
  // Only renewal changes the lease expiry.
  if (keep) return { set: {}, unset: ['lapsed'] };
  return { set: { leaseUntil: 0, ...waiting(tenant, readEntry(next)) }, unset: ['lapsed'] };
}

/**
 * Releases the lease without a finished turn: because this replica has no capacity, or because the queue is empty. Without it other
 * replicas wait until the lease expires. Returns null if the session must be reloaded.
 */
export function giveBack(
  sessions: Documents<SessionDocument>,
  { tenant, session, begun }: Pick<Settling, 'tenant' | 'session'> & { begun: boolean },
): Promise<SessionDocument | null> {
  const { key, fence, depth, queue } = session;
  const [first] = queue;
  const { set } = onward({ tenant, keep: false }, first);
  const guard = { key, fence, ...(first === undefined ? { depth: 0 } : { depth: { gte: depth }, ...sameOrder(session) }) };
  if (first === undefined) return sessions.update(guard, { set, unset: ['waitsFor', 'runnableAt', 'lapsed'] });
  return sessions.update(guard, { set: begun ? { ...set, lapsed: true } : set });
}

/**
 * Returns an expired lease, so that the session waits for any replica with capacity. Raises the fence, so that the old holder can neither
 * renew nor dequeue. Returns null if the lease was renewed or released meanwhile.
 */
export function release(
  sessions: Documents<SessionDocument>,
  { tenant, session }: Pick<Settling, 'tenant' | 'session'>,
): Promise<SessionDocument | null> {
  const { key, fence, leaseUntil, queue } = session;
  const [first] = queue;
  const { set, unset } = onward({ tenant, keep: false }, first);
  const lapsed = first === undefined ? { unset } : { set: { ...set, lapsed: true } };
  return sessions.update({ key, fence, leaseUntil, depth: queue.length, ...sameOrder(session) }, { set, ...lapsed, inc: { fence: 1 } });
}
