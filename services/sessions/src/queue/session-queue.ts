import { createServiceError, ServiceError } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { Effected } from '../sessions/session-effects.ts';
import { readEntry, waiting } from '../model/queue-entry.ts';
import { mayEnter, newSession, type Arrival } from '../sessions/new-session.ts';
import { noSuchSession, sees, sessionTaken, takenBefore } from '../model/session-ownership.ts';

/*
 * The writes to a session's document. Each is one document and guards itself; a guard that misses changes nothing, and whoever
 * asked reads again and acts on what stands there.
 */

/** Who is about to work, and until when nobody else may. */
export interface Taker {
  owner: string;
  now: number;
  leaseMs: number;
}

/** `taken`: this write also took the lease. `waits`: the turn is the first, with nobody at work. `queued`: others come first. */
export type Entered = { session: SessionDocument; place: 'taken' | 'waits' | 'queued' } | { session?: undefined; place: 'there' };

/** What whoever enters knows. */
interface Expected {
  taker?: Taker | undefined;
  /** Nobody is likely to be there: then it is not looked at first. */
  free?: boolean;
}

/**
 * Puts a turn at the end of its session's queue; with a taker, where nobody is at work and nothing waits, takes the lease in the
 * same write. The first turn makes the session. Without this write the turn would be in no queue, and only a sweep would find it.
 *
 * A client that is held to its own sessions enters no other (NOT_FOUND), nobody enters one that has its own name on it and that
 * somebody else made (FAILED_PRECONDITION), and no more than `maxDepth` wait (RESOURCE_EXHAUSTED). `there`: the queue held it already.
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
    // What is read says which write to try, and that one guards itself.
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

/** Behind others, or as the first, which then waits for its agent. */
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

/** Undefined when somebody else was first. */
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

/** Clocks of replicas differ by less: what one of them has just accepted the other may claim. */
const EARLY_MS = 50;

/** Enough has gathered: it waits for nobody any more. A write that is lost costs only the rest of that time. */
export async function hurry(sessions: Documents<SessionDocument>, key: string, now: number): Promise<void> {
  await sessions.update({ key, leaseUntil: 0, runnableAt: { gt: now } }, { set: { runnableAt: now } });
}

/** A session that somebody may work on now. */
export interface Claimed {
  tenant: string;
  session: SessionDocument;
  /** Whoever was at work before did not give the lease back, and may have begun. */
  lapsed: boolean;
}

/**
 * Takes the lease of the session that has waited longest for an agent, in one of its lanes where there are any: one indexed write, however many wait. Without
 * it two would work on one session. Null when none waits, or none since before `since`. What gathers more first is left to do so.
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

/** Who holds the lease of a session. */
export interface Holder {
  key: string;
  fence: number;
}

/**
 * Keeps the lease for another while. Without it, whoever works for long is taken for dead. A lease never gets shorter by it: a write
 * that comes late must not undo a later one, whose holder counts on it. Null when somebody else has the lease.
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

/** What a turn that counts adds to its session. */
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
  /** The session as it was last seen by its holder. */
  session: SessionDocument;
  /** The first of its queue, which has ended. */
  entry: string;
  counted: Counted | undefined;
  /** Whether the holder goes on with what comes next. */
  keep: boolean;
  now: number;
  /** What the turn does to its session besides. */
  effect?: Effected | undefined;
}

/**
 * Takes what has ended out of the queue, counts it if it is done and was not counted before, and goes on under the same lease or
 * gives it back. Without this write the session would stand still, and nothing would say what its history is. Null: look again.
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
      // Whether something came meanwhile decides whether the lease is given back to somebody.
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

/** Nothing was taken out of the queue since it was read: who was next in it still is. */
export function sameOrder({ withdrawn }: SessionDocument) {
  return { withdrawn: withdrawn ?? null };
}

type Onward = { set: Partial<SessionDocument>; unset: ('waitsFor' | 'runnableAt' | 'lapsed')[] };

function onward({ tenant, keep }: Pick<Settling, 'tenant' | 'keep'>, next: string | undefined): Onward {
  if (next === undefined) return { set: { leaseUntil: 0 }, unset: ['waitsFor', 'runnableAt', 'lapsed'] };
  // How long the lease lasts is for its renewal alone to say.
  if (keep) return { set: {}, unset: ['lapsed'] };
  return { set: { leaseUntil: 0, ...waiting(tenant, readEntry(next)) }, unset: ['lapsed'] };
}

/**
 * Gives the lease back without having ended anything: to somebody who has room, or because the queue is empty. Without it, they
 * would wait until the lease has run out. Null: look again.
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
 * A lease that ran out: its session waits again, for anybody who has room. The fence grows, so that whoever held it can neither
 * renew nor settle any more. Null when it was not so any more.
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
