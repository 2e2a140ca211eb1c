import type { ModelRef } from '@switchyard/models';
import type { Agent, AgentDirectory } from '../../agents/agent-directory.ts';
import type { EndedEpochDocument } from '../../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { DAY_MS } from '../../model/retention.ts';
import { clearEndedEpoch } from '../../sessions/session-reset.ts';
import type { StorageQuota } from '../../storage/storage-quota.ts';
import { getTotals } from './turn-totals.ts';
import { countTurnStorage } from './turn-storage.ts';
import { parseEntry, formatWaitsFor } from '../../model/queue-entry.ts';
import { releaseLease, dequeue, type ReleaseOptions } from '../../queue/session-queue.ts';
import { expireTexts, hasBodies } from '../../model/stored-text.ts';
import { getSessionEffect } from '../../sessions/session-effects.ts';
import { agentDeleted, turnPoisoned, turnTimedOut, waitTimedOut } from '../store/turn-errors.ts';
import { createFrameWriter, FRAMES_PER_RUN, type FrameWriter } from '../../frames/frame-publisher.ts';
import { reloadSession, type SessionLease, type SessionLeases } from '../../queue/session-lease.ts';
import { loadMergedTexts } from '../../model/merged-messages.ts';
import { loadCheckpoints, buildResumeState } from '../../model/checkpoint-log.ts';
import { restorePrincipal } from '../../model/turn-principal.ts';
import type { EndedTurn, TurnRunDeps, TurnRun } from './turn-run.ts';
import { endFailed, executeTurn } from './turn-execution.ts';
import type { RunningTurns } from '../ending/running-turns.ts';
import { completeMerged } from './merge-completion.ts';
import { endTurnSpan, recordEnd, recordWait, startTurnSpan } from '../store/turn-metrics.ts';
import { turnEndedElsewhere, takeTurn } from '../store/turn-store.ts';
import { emitTokenUsage } from './token-usage-event.ts';
import { wakeOrigin } from '../store/turn-ended-event.ts';
import { loadTurnEnd, type TurnWaiters } from '../ending/turn-waiters.ts';

type ParkedTurn = NonNullable<TurnDocument['parked']>;

/** A turn is not started more often; it is then assumed to crash its process. */
const MAX_ATTEMPTS = 5;

export interface SessionWorkerDeps extends TurnRunDeps {
  agents: AgentDirectory;
  holds: SessionLeases;
  waiting: TurnWaiters;
  runs: RunningTurns;
  turnDeadlineMs: number;
  waitTimeoutMs: () => number;
  /** Returns whether this process announced the turn to its readers. True at most once. */
  wasAnnounced: (turnId: string) => boolean;
  /** Returns whether a reader follows the turn on this replica. */
  isFollowed: (turnId: string) => boolean;
  /** Aborted, with a reason that ends no turn, when running turns are to be handed over. */
  stopping: AbortSignal;
  /** Returns whether the next turn of the session may start at once. True only if no other session waits. */
  mayContinue: () => boolean;
  storage?: Pick<StorageQuota, 'add' | 'rejectIfFull'>;
}

/** The turn whose acceptance took the lease. */
export interface StartedTurn {
  turn: TurnDocument;
  agent: Agent;
  /** Resolved by the run if undefined. */
  model: ModelRef | undefined;
}

export interface WorkOptions {
  /** Wait key for which a slot is reserved. */
  waitsFor: string;
  first?: StartedTurn;
  /** No slot is reserved; the queue head has waited too long and is only ended. */
  overdue?: boolean;
}

/** Works on a session under its lease: runs turns of one agent until the queue is empty or other sessions come first. */
export async function workOnSession(
  deps: SessionWorkerDeps,
  hold: SessionLease,
  { waitsFor, first, overdue = false }: WorkOptions,
): Promise<void> {
  if (overdue && (await mayHaveStarted(deps, hold))) return releaseSession(deps, hold);
  let options = first;
  let entry = hold.session.queue[0];
  while (entry !== undefined && !deps.stopping.aborted) {
    if (formatWaitsFor(hold.tenant, parseEntry(entry)) !== waitsFor) break;
    const ended = await endHead(deps, hold, { entry, first: options });
    if (ended === 'elsewhere') return;
    if (ended === 'handed over') return releaseSession(deps, hold, { begun: true });
    if (ended !== undefined && 'parkUntil' in ended) return releaseSession(deps, hold, ended);
    if (!(await dequeueHead(deps, hold, { entry, ended, waitsFor: overdue ? undefined : waitsFor }))) return;
    // The earlier lease holder cannot have started a later entry.
    hold.lapsed = false;
    options = undefined;
    entry = hold.session.queue[0];
  }
  await releaseSession(deps, hold);
}

async function mayHaveStarted({ turns }: SessionWorkerDeps, hold: SessionLease): Promise<boolean> {
  const [entry] = hold.session.queue;
  const turn = entry === undefined ? null : await hold.retryWrite(() => turns.for(hold).get(parseEntry(entry).turnId));
  return turn !== null && !hasEnded(turn) && (hold.lapsed || turn.attempts > 0);
}

interface HeadOptions {
  entry: string;
  first: StartedTurn | undefined;
}

/** End of the queue head; undefined if the turn does not exist. */
type HeadEnd = (EndNotice & Pick<EndedTurn, 'turn' | 'end'>) | undefined;

/** Notifies readers once the session has counted the turn. */
interface EndNotice {
  notify: () => void;
}

/** Runs the queue head, unless it has ended already. */
async function endHead(
  deps: SessionWorkerDeps,
  hold: SessionLease,
  { entry, first }: HeadOptions,
): Promise<HeadEnd | ParkedHead | 'elsewhere' | 'handed over'> {
  const { turnId } = parseEntry(entry);
  const turns = deps.turns.for(hold);
  const turn = first?.turn ?? (await hold.retryWrite(() => loadHead(deps, hold, turnId)));
  if (!turn) return undefined;
  if (!hasEnded(turn) && (isFresh(turn) || turn.fence === hold.fence)) {
    const ended = await runHead(deps, hold, { turn, first });
    if (ended) return ended;
  }
  const existing = await hold.retryWrite(() => turns.get(turnId));
  if (!existing) return undefined;
  if (!hasEnded(existing) && existing.parked && existing.fence === hold.fence && hold.isHeld())
    return parkHead(deps, hold, existing.parked);
  if (!hasEnded(existing)) return hold.isHeld() && existing.fence <= hold.fence ? 'handed over' : 'elsewhere';
  const end = await hold.retryWrite(() => loadTurnEnd(deps.bodies.for(hold), existing));
  return { turn: existing, end, notify: () => notifyAgain(deps, hold, existing, end) };
}

/** The queue head waits until this time; undefined if its wait is over already. */
interface ParkedHead {
  parkUntil: number | undefined;
}

/** A verdict that comes after this read finds the turn parked, and wakes its session. An earlier one lets the turn continue at once. */
async function parkHead({ gate }: SessionWorkerDeps, hold: SessionLease, parked: ParkedTurn): Promise<ParkedHead> {
  return { parkUntil: gate && (await hold.retryWrite(() => gate.findWakeTime(hold.tenant, parked))) };
}

/** No runner has written to the turn. */
function isFresh({ fence, attempts }: TurnDocument): boolean {
  return fence === 0 && attempts === 0;
}

/**
 * Loads the queue head and takes it if another runner may have started it. If the previous lease was released, no runner has, and none can
 * until this lease expires, so the write is skipped.
 */
async function loadHead(deps: SessionWorkerDeps, hold: SessionLease, turnId: string): Promise<TurnDocument | null> {
  const existing = await deps.turns.for(hold).get(turnId);
  if (!hold.lapsed && existing && isFresh(existing)) return existing;
  return (await takeHead(deps, hold, { turnId, startedAt: getStart(existing, deps.store.now()) })) ?? deps.turns.for(hold).get(turnId);
}

/** The time for which a turn waited for an approval does not count against its time limit. */
function getStart(turn: TurnDocument | null, now: number): number | undefined {
  const { startedAt, parked } = turn ?? {};
  return startedAt === undefined || parked === undefined ? startedAt : startedAt + Math.max(0, now - parked.at);
}

/** A turn started under the lease of its acceptance has no attempt counted. After an expired lease that attempt is counted too. */
async function takeHead(
  deps: SessionWorkerDeps,
  { tenant, fence, lapsed }: SessionLease,
  { turnId, startedAt = deps.store.now() }: Pick<TurnDocument, 'turnId' | 'startedAt'>,
): Promise<TurnDocument | null> {
  const turns = deps.turns.for({ tenant });
  const taking = { turnId, fence, startedAt };
  return (
    (lapsed ? await takeTurn(turns, { ...taking, attempts: 2, uncounted: true }) : null) ?? takeTurn(turns, { ...taking, attempts: 1 })
  );
}

interface Deadline {
  /** Total time limit of the turn. */
  ms: number;
  /** Remaining time. */
  leftMs: number;
}

/**
 * The general limit, or the agent's stall ceiling if it is lower, applies to each run. A `timeoutMs` of the turn counts from its first
 * start.
 */
function getDeadline({ agents, turnDeadlineMs, store }: SessionWorkerDeps, { tenant }: SessionLease, turn: TurnDocument): Deadline {
  const { promptTimeoutMs = Infinity, stallCeilingMultiplier = Infinity } = agents.find(tenant, turn.agentId)?.config.promptTimeout ?? {};
  const usual = Math.min(turnDeadlineMs, promptTimeoutMs * stallCeilingMultiplier);
  const { timeoutMs = Infinity, startedAt } = turn;
  const leftMs = timeoutMs - (startedAt === undefined ? 0 : Math.max(0, store.now() - startedAt));
  return leftMs < usual ? { ms: timeoutMs, leftMs: Math.max(0, leftMs) } : { ms: usual, leftMs: usual };
}

async function runHead(
  deps: SessionWorkerDeps,
  hold: SessionLease,
  { turn, first }: { turn: TurnDocument; first: StartedTurn | undefined },
): Promise<HeadEnd> {
  const { turnId, attempts } = turn;
  const resumed = attempts > 1;
  const firstFrame = resumed ? attempts * FRAMES_PER_RUN : deps.wasAnnounced(turnId) ? 1 : 0;
  const isUnfollowed = (): boolean => turn.quiet === true && !deps.isFollowed(turnId);
  const content = { tenant: hold.tenant, turnId, from: firstFrame, fence: hold.fence, isLeaseHeld: () => hold.isHeld(), isUnfollowed };
  const frames = createFrameWriter(deps, content);
  const span = startTurnSpan(turn, turn.traceparent);
  const ending = new AbortController();
  const deadline = getDeadline(deps, hold, turn);
  const until = deps.clock.now() + deadline.leftMs;
  const stop = (): void => ending.abort(turnEndedElsewhere());
  const forgetRun = deps.runs.add(turnId, stop);
  const stopTimer = deps.clock.after(deadline.leftMs, () => ending.abort(turnTimedOut(deadline.ms)));
  const stopForwarding = [hold.signal, deps.stopping].map((signal) => forwardAbort(signal, ending));
  let ended: EndedTurn | undefined;
  try {
    const bodies = deps.bodies.for(hold);
    const from = buildResumeState(await loadCheckpoints(bodies, turnId, turn.steps), await loadMergedTexts(bodies, turn));
    if (resumed) frames.push({ type: 'resumed', text: from.text });
    else recordWait(deps.store.now() - turn.createdAt);
    const { signal } = ending;
    const principal = restorePrincipal(turn, hold.tenant);
    const remainingMs = (): number => until - deps.clock.now();
    const options = {
      lease: hold,
      turn,
      model: first?.model,
      principal,
      frames,
      resumeFrom: from,
      signal,
      stop,
      remainingMs,
      traceparent: span.traceparent,
    };
    ended = await runOrReject(deps, options, first);
  } finally {
    endTurnSpan(span, ended?.end);
    stopTimer();
    for (const stopOne of stopForwarding) stopOne();
    forgetRun();
    frames.close();
  }
  return ended && describeEnd(deps, hold, frames, ended);
}

/** Forwards an abort like `AbortSignal.any`, but leaves nothing for the garbage collector. Returns a function that stops forwarding. */
function forwardAbort(signal: AbortSignal, controller: AbortController): () => void {
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

async function runOrReject(
  deps: SessionWorkerDeps,
  options: Omit<TurnRun, 'agent'>,
  first: StartedTurn | undefined,
): Promise<EndedTurn | undefined> {
  const { turn, lease } = options;
  const agent = first?.agent ?? deps.agents.find(lease.tenant, turn.agentId);
  const refused = getRejection(deps, { turn, agent, first });
  if (agent && !refused) return executeTurn(deps, { ...options, agent });
  return endFailed(deps, options, refused ?? agentDeleted(turn.agentId));
}

function describeEnd(deps: SessionWorkerDeps, hold: SessionLease, frames: FrameWriter, ended: EndedTurn): HeadEnd {
  const { turn, end } = ended;
  recordEnd('durable', end.failure ?? end.result, deps.store.now() - turn.createdAt);
  return { turn, end, notify: () => notify(deps, hold, frames, ended) };
}

/** Returns the error if the turn must not run. */
function getRejection(
  deps: SessionWorkerDeps,
  { turn, agent, first }: { turn: TurnDocument; agent: Agent | undefined; first: StartedTurn | undefined },
) {
  if (turn.attempts - (turn.parks ?? 0) > MAX_ATTEMPTS) return turnPoisoned(MAX_ATTEMPTS);
  const waitMs = deps.waitTimeoutMs();
  if (!first && turn.attempts <= 1 && deps.store.now() - turn.createdAt > waitMs) return waitTimedOut(waitMs);
  return agent ? undefined : agentDeleted(turn.agentId);
}

function notify(deps: SessionWorkerDeps, { tenant }: SessionLease, frames: FrameWriter, { turn, end, frame, outcome }: EndedTurn): void {
  frames.end(frame);
  deps.waiting.notify(tenant, turn.turnId, end);
  wakeOrigin(deps.bus, turn);
  if (outcome)
    emitTokenUsage(deps, tenant, turn, outcome).catch((err: unknown) => {
      const hint = 'the turn document contains the usage';
      deps.log.warn({ err, turnId: turn.turnId, errorKind: 'dependency', hint }, 'failed to publish token usage for turn');
    });
}

/** The process that ended the turn may have died before notifying readers. Readers ignore duplicates. */
function notifyAgain(deps: SessionWorkerDeps, { tenant }: SessionLease, turn: TurnDocument, end: EndedTurn['end']): void {
  const { turnId, fence, lastFrame = 0 } = turn;
  const frames = createFrameWriter(deps, { tenant, turnId, fence, from: lastFrame });
  frames.end(end.result ? { type: 'done', result: end.result } : { type: 'error', error: end.failure });
  frames.close();
  deps.waiting.notify(tenant, turnId, end);
  wakeOrigin(deps.bus, turn);
}

interface DequeueHeadOptions {
  entry: string;
  ended: HeadEnd;
  /** Wait key that may continue; undefined if none may. */
  waitsFor: string | undefined;
}

/** Dequeues the finished head and notifies its readers. Returns false if the lease was released or lost. */
async function dequeueHead(deps: SessionWorkerDeps, hold: SessionLease, { entry, ended, waitsFor }: DequeueHeadOptions): Promise<boolean> {
  let notified = false;
  const notifyMerged = ended?.turn.merged && (await completeMerged(deps, hold, ended));
  const notifyOnce = (): void => {
    if (!notified) ended?.notify();
    if (!notified) notifyMerged?.();
    notified = true;
  };
  // A retried write may not be durable yet, so readers are notified only after a read.
  const notifyWhenStored = (): void => {
    if (ended)
      deps.turns
        .for(hold)
        .get(ended.turn.turnId)
        .then(notifyOnce, () => undefined);
  };
  const continues = (next: string | undefined): boolean => {
    if (next === undefined) return false;
    const coming = parseEntry(next);
    return formatWaitsFor(hold.tenant, coming) === waitsFor && coming.notBefore <= deps.store.now() && deps.mayContinue();
  };
  const sessions = deps.sessions.for(hold);
  await expireLongTexts(deps, hold, ended?.turn);
  for (let reloaded = false; ; reloaded = true) {
    const { session } = hold;
    const keep = continues(session.queue[1]);
    const now = deps.store.now();
    const effect = getSessionEffect(hold.tenant, { turn: ended?.turn, session, now });
    const gone = effect?.gone;
    // After a crash this record leads a sweep to the turns of the old epoch.
    if (gone) await hold.retryWrite(() => deps.gone.for(hold).replace(gone));
    const settling = {
      tenant: hold.tenant,
      session,
      entry,
      totals: getTotals(ended?.turn, reloaded ? hold : undefined),
      keepLease: keep,
      now,
      effect,
    };
    const settled = await hold.retryWrite(() => dequeue(sessions, settling), notifyWhenStored);
    if (settled) {
      if (ended && settling.totals) deps.recall.add({ tenant: hold.tenant, session }, ended.turn);
      countTurnStorage(deps, hold.tenant, { session, totals: settling.totals, isReset: gone !== undefined });
      hold.session = settled;
      notifyOnce();
      if (gone) clearEpoch(deps, hold, gone);
      else if (ended?.turn.continuePendingSince) deps.autoContinue.consider(hold.tenant, ended.turn);
      else if (settling.totals) deps.compaction.consider(hold.tenant, settled);
      return keep;
    }
    if (!(await reloadSession(deps.sessions, hold)) || hold.session.queue[0] !== entry) {
      notifyOnce();
      return hold.isHeld() && hold.session.fence === hold.fence && hold.session.leaseUntil > 0;
    }
  }
}

/** Runs in the background; a sweep repeats it after a failure. */
function clearEpoch(deps: SessionWorkerDeps, { tenant }: SessionLease, gone: EndedEpochDocument): void {
  clearEndedEpoch({ ...deps, forgetAt: deps.store.now() + DAY_MS }, tenant, gone).catch(() => undefined);
}

/** Expires the long texts of a turn without an answer. */
async function expireLongTexts({ bodies }: SessionWorkerDeps, hold: SessionLease, turn: TurnDocument | undefined): Promise<void> {
  const { turnId, forgetAt } = turn ?? {};
  if (turn && turnId !== undefined && forgetAt !== undefined && hasBodies(turn)) {
    await hold.retryWrite(() => expireTexts(bodies, hold.tenant, turnId, forgetAt));
  }
}

/** Releases the lease, so that other replicas do not wait for its expiry. */
async function releaseSession(deps: SessionWorkerDeps, hold: SessionLease, state: Partial<ReleaseOptions> = {}): Promise<void> {
  const { begun = false, parkUntil } = state;
  const sessions = deps.sessions.for(hold);
  while (hold.session.leaseUntil > 0) {
    const options = await hold.retryWrite(() => releaseLease(sessions, { tenant: hold.tenant, session: hold.session, begun, parkUntil }));
    if (options) hold.session = options;
    else if (!(await reloadSession(deps.sessions, hold))) return;
  }
}
