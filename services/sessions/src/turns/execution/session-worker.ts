import type { ModelRef } from '@switchyard/models';
import type { Agent, AgentDirectory } from '../../agents/agent-directory.ts';
import type { GoneDocument } from '../../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { DAY_MS } from '../../model/retention.ts';
import { clearGone } from '../../sessions/session-reset.ts';
import { readEntry, waitsForOf } from '../../model/queue-entry.ts';
import { giveBack, settle, type Counted } from '../../queue/session-queue.ts';
import { forget, hasBodies } from '../../model/stored-text.ts';
import { effectOf } from '../../sessions/session-effects.ts';
import { agentGone, poisoned, timedOut, waitedTooLong } from '../store/turn-errors.ts';
import { createFrameWriter, FRAMES_A_RUN, type FrameWriter } from '../../frames/frame-publisher.ts';
import { lookAgain, type Hold, type Holds } from '../../queue/session-lease.ts';
import { heardBy } from '../../model/merged-messages.ts';
import { readMarks, standingOf } from '../../model/checkpoint-log.ts';
import { principalOf } from '../../model/turn-principal.ts';
import type { Ended, RunDeps, RunGiven } from './turn-run.ts';
import { endFailed, runDurable } from './turn-execution.ts';
import type { Runs } from '../ending/running-turns.ts';
import { endJoined } from './merge-completion.ts';
import { charsOf, messagesOf } from '../../model/turn-messages.ts';
import { endTurnSpan, noteEnd, noteWait, startTurnSpan } from '../store/turn-metrics.ts';
import { endedMeanwhile, take } from '../store/turn-store.ts';
import { tellUsage } from './token-usage-event.ts';
import { endOf, type Waiting } from '../ending/turn-waiters.ts';

/** A turn is not started more often; it is then assumed to crash its process. */
const MOST_ATTEMPTS = 5;

export interface WorkDeps extends RunDeps {
  agents: AgentDirectory;
  holds: Holds;
  waiting: Waiting;
  runs: Runs;
  turnDeadlineMs: number;
  waitTimeoutMs: () => number;
  /** Returns whether this process announced the turn to its readers. True at most once. */
  wasAnnounced: (turnId: string) => boolean;
  /** Returns whether a reader follows the turn on this replica. */
  isFollowed: (turnId: string) => boolean;
  /** Aborted, with a reason that ends no turn, when running turns are to be handed over. */
  stopping: AbortSignal;
  /** Returns whether the next turn of the session may start at once. True only if no other session waits. */
  mayGoOn: () => boolean;
}

/** The turn whose acceptance took the lease. */
export interface First {
  turn: TurnDocument;
  agent: Agent;
  model: ModelRef;
}

export interface Work {
  /** Wait key for which a slot is reserved. */
  waitsFor: string;
  first?: First;
  /** No slot is reserved; the queue head has waited too long and is only ended. */
  overdue?: boolean;
}

/** Works on a session under its lease: runs turns of one agent until the queue is empty or other sessions come first. */
export async function work(deps: WorkDeps, hold: Hold, { waitsFor, first, overdue = false }: Work): Promise<void> {
  if (overdue && (await mayHaveBegun(deps, hold))) return leave(deps, hold, false);
  let given = first;
  let entry = hold.session.queue[0];
  while (entry !== undefined && !deps.stopping.aborted) {
    if (waitsForOf(hold.tenant, readEntry(entry)) !== waitsFor) break;
    const ended = await endHead(deps, hold, { entry, first: given });
    if (ended === 'elsewhere') return;
    if (ended === 'handed over') return leave(deps, hold, true);
    if (!(await settleHead(deps, hold, { entry, ended, waitsFor: overdue ? undefined : waitsFor }))) return;
    given = undefined;
    entry = hold.session.queue[0];
  }
  await leave(deps, hold, false);
}

async function mayHaveBegun({ turns }: WorkDeps, hold: Hold): Promise<boolean> {
  const [entry] = hold.session.queue;
  const turn = entry === undefined ? null : await hold.persist(() => turns.for(hold).get(readEntry(entry).turnId));
  return turn !== null && !hasEnded(turn) && (hold.lapsed || turn.attempts > 0);
}

interface Head {
  entry: string;
  first: First | undefined;
}

/** End of the queue head; undefined if the turn does not exist. */
type HeadEnd = (Told & Pick<Ended, 'turn' | 'end'>) | undefined;

/** Notifies readers once the session has counted the turn. */
interface Told {
  tell: () => void;
}

/** Runs the queue head, unless it has ended already. */
async function endHead(deps: WorkDeps, hold: Hold, { entry, first }: Head): Promise<HeadEnd | 'elsewhere' | 'handed over'> {
  const { turnId } = readEntry(entry);
  const turns = deps.turns.for(hold);
  const turn = first?.turn ?? (await hold.persist(() => headOf(deps, hold, turnId)));
  if (!turn) return undefined;
  if (!hasEnded(turn) && (isFresh(turn) || turn.fence === hold.fence)) {
    const ended = await run(deps, hold, { turn, first });
    if (ended) return ended;
  }
  const there = await hold.persist(() => turns.get(turnId));
  if (!there) return undefined;
  if (!hasEnded(there)) return hold.held() && there.fence <= hold.fence ? 'handed over' : 'elsewhere';
  const end = await hold.persist(() => endOf(deps.bodies.for(hold), there));
  return { turn: there, end, tell: () => tellAgain(deps, hold, there, end) };
}

/** No runner has written to the turn. */
function isFresh({ fence, attempts }: TurnDocument): boolean {
  return fence === 0 && attempts === 0;
}

/**
 * Loads the queue head and takes it if another runner may have started it. If the previous lease was released, no runner has, and none can
 * until this lease expires, so the write is skipped.
 */
async function headOf(deps: WorkDeps, hold: Hold, turnId: string): Promise<TurnDocument | null> {
  const there = await deps.turns.for(hold).get(turnId);
  if (!hold.lapsed && there && isFresh(there)) return there;
  return (await takeHead(deps, hold, { turnId, startedAt: there?.startedAt })) ?? deps.turns.for(hold).get(turnId);
}

/** A turn started under the lease of its acceptance has no attempt counted. After an expired lease that attempt is counted too. */
async function takeHead(
  deps: WorkDeps,
  { tenant, fence, lapsed }: Hold,
  { turnId, startedAt = deps.store.now() }: Pick<TurnDocument, 'turnId' | 'startedAt'>,
): Promise<TurnDocument | null> {
  const turns = deps.turns.for({ tenant });
  const taking = { turnId, fence, startedAt };
  return (lapsed ? await take(turns, { ...taking, attempts: 2, uncounted: true }) : null) ?? take(turns, { ...taking, attempts: 1 });
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
function deadlineOf({ agents, turnDeadlineMs, store }: WorkDeps, { tenant }: Hold, turn: TurnDocument): Deadline {
  const { promptTimeoutMs = Infinity, stallCeilingMultiplier = Infinity } = agents.find(tenant, turn.agentId)?.config.promptTimeout ?? {};
  const usual = Math.min(turnDeadlineMs, promptTimeoutMs * stallCeilingMultiplier);
  const { timeoutMs = Infinity, startedAt } = turn;
  const leftMs = timeoutMs - (startedAt === undefined ? 0 : Math.max(0, store.now() - startedAt));
  return leftMs < usual ? { ms: timeoutMs, leftMs: Math.max(0, leftMs) } : { ms: usual, leftMs: usual };
}

async function run(deps: WorkDeps, hold: Hold, { turn, first }: { turn: TurnDocument; first: First | undefined }): Promise<HeadEnd> {
  const { turnId, attempts } = turn;
  const resumed = attempts > 1;
  const firstFrame = resumed ? attempts * FRAMES_A_RUN : deps.wasAnnounced(turnId) ? 1 : 0;
  const quiet = (): boolean => turn.quiet === true && !deps.isFollowed(turnId);
  const said = { tenant: hold.tenant, turnId, from: firstFrame, fence: hold.fence, held: () => hold.held(), quiet };
  const frames = createFrameWriter(deps, said);
  const span = startTurnSpan(turn, turn.traceparent);
  const ending = new AbortController();
  const deadline = deadlineOf(deps, hold, turn);
  const until = deps.clock.now() + deadline.leftMs;
  const stop = (): void => ending.abort(endedMeanwhile());
  const forgetRun = deps.runs.add(turnId, stop);
  const stopTimer = deps.clock.after(deadline.leftMs, () => ending.abort(timedOut(deadline.ms)));
  const unfollow = [hold.signal, deps.stopping].map((signal) => follow(signal, ending));
  let ended: Ended | undefined;
  try {
    const bodies = deps.bodies.for(hold);
    const from = standingOf(await readMarks(bodies, turnId, turn.steps), await heardBy(bodies, turn));
    if (resumed) frames.push({ type: 'resumed', text: from.text });
    else noteWait(deps.store.now() - turn.createdAt);
    const { signal } = ending;
    const principal = principalOf(turn, hold.tenant);
    const left = (): number => until - deps.clock.now();
    const given = { hold, turn, model: first?.model, principal, frames, from, signal, stop, left, traceparent: span.traceparent };
    ended = await runOrRefuse(deps, given, first);
  } finally {
    endTurnSpan(span, ended?.end);
    stopTimer();
    for (const leave of unfollow) leave();
    forgetRun();
    frames.close();
  }
  return ended && toldOf(deps, hold, frames, ended);
}

/** Forwards an abort like `AbortSignal.any`, but leaves nothing for the garbage collector. Returns a function that stops forwarding. */
function follow(signal: AbortSignal, controller: AbortController): () => void {
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

async function runOrRefuse(deps: WorkDeps, given: Omit<RunGiven, 'agent'>, first: First | undefined): Promise<Ended | undefined> {
  const { turn, hold } = given;
  const agent = first?.agent ?? deps.agents.find(hold.tenant, turn.agentId);
  const refused = refusal(deps, { turn, agent, first });
  if (agent && !refused) return runDurable(deps, { ...given, agent });
  return endFailed(deps, given, refused ?? agentGone(turn.agentId));
}

function toldOf(deps: WorkDeps, hold: Hold, frames: FrameWriter, ended: Ended): HeadEnd {
  const { turn, end } = ended;
  noteEnd('durable', end.failure ?? end.result, deps.store.now() - turn.createdAt);
  return { turn, end, tell: () => tell(deps, hold, frames, ended) };
}

/** Returns the error if the turn must not run. */
function refusal(deps: WorkDeps, { turn, agent, first }: { turn: TurnDocument; agent: Agent | undefined; first: First | undefined }) {
  if (turn.attempts > MOST_ATTEMPTS) return poisoned(MOST_ATTEMPTS);
  const waitMs = deps.waitTimeoutMs();
  if (!first && turn.attempts <= 1 && deps.store.now() - turn.createdAt > waitMs) return waitedTooLong(waitMs);
  return agent ? undefined : agentGone(turn.agentId);
}

function tell(deps: WorkDeps, { tenant }: Hold, frames: FrameWriter, { turn, end, frame, outcome }: Ended): void {
  frames.end(frame);
  deps.waiting.tell(tenant, turn.turnId, end);
  if (outcome)
    tellUsage(deps, tenant, turn, outcome).catch((err: unknown) => {
      const hint = 'what the turn cost is in its document all the same';
      deps.log.warn({ err, turnId: turn.turnId, errorKind: 'dependency', hint }, 'what a turn used was not told');
    });
}

/** The process that ended the turn may have died before notifying readers. Readers ignore duplicates. */
function tellAgain(deps: WorkDeps, { tenant }: Hold, turn: TurnDocument, end: Ended['end']): void {
  const { turnId, fence, lastFrame = 0 } = turn;
  const frames = createFrameWriter(deps, { tenant, turnId, fence, from: lastFrame });
  frames.end(end.result ? { type: 'done', result: end.result } : { type: 'error', error: end.failure });
  frames.close();
  deps.waiting.tell(tenant, turnId, end);
}

interface Settling {
  entry: string;
  ended: HeadEnd;
  /** Wait key that may continue; undefined if none may. */
  waitsFor: string | undefined;
}

/** Dequeues the finished head and notifies its readers. Returns false if the lease was released or lost. */
async function settleHead(deps: WorkDeps, hold: Hold, { entry, ended, waitsFor }: Settling): Promise<boolean> {
  let told = false;
  const tellJoined = ended?.turn.joined && (await endJoined(deps, hold, ended));
  const tellOnce = (): void => {
    if (!told) ended?.tell();
    if (!told) tellJoined?.();
    told = true;
  };
  // A retried write may not be durable yet, so readers are notified only after a read.
  const tellWhenKept = (): void => {
    if (ended)
      deps.turns
        .for(hold)
        .get(ended.turn.turnId)
        .then(tellOnce, () => undefined);
  };
  const goesOn = (next: string | undefined): boolean => {
    if (next === undefined) return false;
    const coming = readEntry(next);
    return waitsForOf(hold.tenant, coming) === waitsFor && coming.from <= deps.store.now() && deps.mayGoOn();
  };
  const sessions = deps.sessions.for(hold);
  await forgetLong(deps, hold, ended?.turn);
  for (let looked = false; ; looked = true) {
    const { session } = hold;
    const keep = goesOn(session.queue[1]);
    const now = deps.store.now();
    const effect = effectOf(hold.tenant, { turn: ended?.turn, session, now });
    const gone = effect?.gone;
    // After a crash this record leads a sweep to the turns of the old epoch.
    if (gone) await hold.persist(() => deps.gone.for(hold).replace(gone));
    const settling = {
      tenant: hold.tenant,
      session,
      entry,
      counted: counted(ended?.turn, looked ? hold : undefined),
      keep,
      now,
      effect,
    };
    const settled = await hold.persist(() => settle(sessions, settling), tellWhenKept);
    if (settled) {
      if (ended && settling.counted) deps.recall.add({ tenant: hold.tenant, session }, ended.turn);
      hold.session = settled;
      tellOnce();
      if (gone) clear(deps, hold, gone);
      else if (ended?.turn.unfollowed) deps.followUps.consider(hold.tenant, ended.turn);
      else if (settling.counted) deps.compaction.consider(hold.tenant, settled);
      return keep;
    }
    if (!(await lookAgain(deps.sessions, hold)) || hold.session.queue[0] !== entry) {
      tellOnce();
      return hold.held() && hold.session.fence === hold.fence && hold.session.leaseUntil > 0;
    }
  }
}

/** Runs in the background; a sweep repeats it after a failure. */
function clear(deps: WorkDeps, { tenant }: Hold, gone: GoneDocument): void {
  clearGone({ ...deps, forgetAt: deps.store.now() + DAY_MS }, tenant, gone).catch(() => undefined);
}

/** Expires the long texts of a turn without an answer. */
async function forgetLong({ bodies }: WorkDeps, hold: Hold, turn: TurnDocument | undefined): Promise<void> {
  const { turnId, forgetAt } = turn ?? {};
  if (turn && turnId !== undefined && forgetAt !== undefined && hasBodies(turn)) {
    await hold.persist(() => forget(bodies, hold.tenant, turnId, forgetAt));
  }
}

/**
 * Returns the totals of a turn. The guard of the write decides whether it was counted before; after a miss the reloaded session decides.
 */
function counted(turn: TurnDocument | undefined, found: Hold | undefined): Counted | undefined {
  if (turn?.state !== 'done' || turn.seq === undefined || turn.epoch === undefined) return undefined;
  const { seq, epoch, stepCount = 0, tokensUsed, costUsd = 0 } = turn;
  if (found && (epoch !== found.session.epoch || seq <= found.session.lastSeq)) return undefined;
  return {
    seq,
    epoch,
    messages: messagesOf(turn),
    chars: charsOf(turn),
    steps: stepCount,
    input: tokensUsed?.input ?? 0,
    output: tokensUsed?.output ?? 0,
    costUsd,
  };
}

/** Releases the lease, so that other replicas do not wait for its expiry. */
async function leave(deps: WorkDeps, hold: Hold, begun: boolean): Promise<void> {
  const sessions = deps.sessions.for(hold);
  while (hold.session.leaseUntil > 0) {
    const given = await hold.persist(() => giveBack(sessions, { tenant: hold.tenant, session: hold.session, begun }));
    if (given) hold.session = given;
    else if (!(await lookAgain(deps.sessions, hold))) return;
  }
}
