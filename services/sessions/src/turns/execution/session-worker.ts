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

/** As often is a turn begun before it is taken for what makes its processes stop. */
const MOST_ATTEMPTS = 5;

export interface WorkDeps extends RunDeps {
  agents: AgentDirectory;
  holds: Holds;
  waiting: Waiting;
  runs: Runs;
  turnDeadlineMs: number;
  waitTimeoutMs: () => number;
  /** Whether the readers of a turn were told here that it is written. Asked once. */
  wasAnnounced: (turnId: string) => boolean;
  /** Whether somebody asked here how far a turn is, and so reads along. */
  isFollowed: (turnId: string) => boolean;
  /** Aborts, with the reason that ends no turn, when what runs is to be handed to others. */
  stopping: AbortSignal;
  /** Whether what comes next in the same session may go on at once: only where nobody else waits. */
  mayGoOn: () => boolean;
}

/** The turn with which its acceptance took the lease. */
export interface First {
  turn: TurnDocument;
  agent: Agent;
  model: ModelRef;
}

export interface Work {
  /** The agent that there is room for, and its lane. */
  waitsFor: string;
  first?: First;
  /** There is no room, and the first of the queue has waited for too long: it only ends. */
  overdue?: boolean;
}

/** Works on a session while it holds the lease: turn after turn of one agent, until nothing is left or others are next. */
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

/** How the first of the queue ended; undefined when there is no such turn. */
type HeadEnd = (Told & Pick<Ended, 'turn' | 'end'>) | undefined;

/** What is still to be told of an end, once its session has counted it. */
interface Told {
  tell: () => void;
}

/** Runs the first of the queue, unless it has ended already. */
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

/** Nobody has written to it that he works on it. */
function isFresh({ fence, attempts }: TurnDocument): boolean {
  return fence === 0 && attempts === 0;
}

/**
 * The turn to work on, taken where somebody may have begun it. Where nobody had the lease before, or who had it gave it back, nobody
 * has, and until the lease runs out nobody else can: then taking it would say nothing.
 */
async function headOf(deps: WorkDeps, hold: Hold, turnId: string): Promise<TurnDocument | null> {
  const there = await deps.turns.for(hold).get(turnId);
  if (!hold.lapsed && there && isFresh(there)) return there;
  return (await takeHead(deps, hold, { turnId, startedAt: there?.startedAt })) ?? deps.turns.for(hold).get(turnId);
}

/** A turn that was begun on its acceptor's lease has counted no attempt; a lease that ran out says that there may have been one. */
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
  /** All the time that the turn may take. */
  ms: number;
  /** What is left of it. */
  leftMs: number;
}

/**
 * How long a turn may take: as long as any, or as many silences of its model as its agent allows it, if that is less, in each of its
 * runs; what was said of the turn itself counts from its first start.
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

/** Aborts with the signal, as `AbortSignal.any` does, and leaves nothing for the collector to find out. What it returns ends that. */
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

/** Why a turn that was taken is not going to run. */
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

/** Whoever ended it may not have lived to say so; a reader drops what it has heard. */
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
  /** The agent that may go on, in its lane; undefined when nobody may. */
  waitsFor: string | undefined;
}

/** Takes what has ended out of the queue, and tells its readers. False when the lease is given back, or somebody else's. */
async function settleHead(deps: WorkDeps, hold: Hold, { entry, ended, waitsFor }: Settling): Promise<boolean> {
  let told = false;
  const tellJoined = ended?.turn.joined && (await endJoined(deps, hold, ended));
  const tellOnce = (): void => {
    if (!told) ended?.tell();
    if (!told) tellJoined?.();
    told = true;
  };
  // The end was written before, and may not be on the disk: what is read is.
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
    // Whoever dies after the next write leaves turns of an epoch that is over, which this note leads to.
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

/** Nobody waits for it; where it fails a sweep does it. */
function clear(deps: WorkDeps, { tenant }: Hold, gone: GoneDocument): void {
  clearGone({ ...deps, forgetAt: deps.store.now() + DAY_MS }, tenant, gone).catch(() => undefined);
}

/** The long texts of a turn without an answer go with it. */
async function forgetLong({ bodies }: WorkDeps, hold: Hold, turn: TurnDocument | undefined): Promise<void> {
  const { turnId, forgetAt } = turn ?? {};
  if (turn && turnId !== undefined && forgetAt !== undefined && hasBodies(turn)) {
    await hold.persist(() => forget(bodies, hold.tenant, turnId, forgetAt));
  }
}

/**
 * What a turn adds to its session. Whether it was counted before, or belongs to an epoch that is over, is for the write to say; once
 * it has missed, what it found there says so too.
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

/** Gives the lease back, so that nobody waits for it to run out. */
async function leave(deps: WorkDeps, hold: Hold, begun: boolean): Promise<void> {
  const sessions = deps.sessions.for(hold);
  while (hold.session.leaseUntil > 0) {
    const given = await hold.persist(() => giveBack(sessions, { tenant: hold.tenant, session: hold.session, begun }));
    if (given) hold.session = given;
    else if (!(await lookAgain(deps.sessions, hold))) return;
  }
}
