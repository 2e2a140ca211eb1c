import { ServiceError } from '@switchyard/contracts';
import { deriveId } from '@switchyard/security';
import type { Settings } from '@switchyard/service-kit';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { AgentDirectory } from '../../agents/agent-directory.ts';
import type { Compaction } from '../../context/compaction/compaction.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import { type TurnDocument, hasEnded, unbegun } from '../../model/turn-document.ts';
import { isQueueFull } from '../../queue/session-queue.ts';
import { lanesOf } from '../../queue/lanes.ts';
import { agentSuspended, overtaken, turnCancelled } from '../store/turn-errors.ts';
import { toFailure } from '../store/turn-failure.ts';
import { commitFailure } from '../store/turn-store.ts';

/*
 * A turn whose window is full ends, and what comes after it has room once its conversation is made shorter. That it may go on by itself
 * is noted in the write that ends it (`unfollowed`); the note goes once the turn that follows is in its queue, or there is none to come.
 * 0 says that somebody does not want it to go on. Whoever dies in between leaves the note, and a sweep does what it stands for. The id of
 * the turn that follows is made of that of the one before, so that there is one, however often it is begun.
 */

/** What the model of such a turn is told: nobody said it. */
export const GO_ON =
  'Your last turn ended because there was no room left for it. What was said before is told in short by now. Go on where you were, and do what is left to be done.';

/** Lets conversations go on by themselves. No turn waits for it. */
export interface FollowUps extends AsyncDisposable {
  /** Whether a turn that ended because its window is full may be gone on from. */
  wanted(turn: Pick<TurnDocument, 'follows'>): boolean;
  /** Of a turn that was counted just now, with its note. Returns at once; what fails here is tried again by a sweep. */
  consider(tenant: string, turn: TurnDocument): void;
  sweep(): Promise<void>;
}

export interface FollowUpDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  agents: AgentDirectory;
  compaction: Compaction;
  settings: Settings<'queue'>;
  store: Pick<Store, 'now'>;
  log: Logger;
  /** Puts a turn that is written into its session's queue, unless it is there. */
  enter: (tenant: string, turn: TurnDocument) => Promise<void>;
}

/** A note that is older was left by a process that died, or could not be acted on then. */
const LATE_MS = 1_000;
/** What could not be done for so long is not done any more: whoever waited has gone on by now. */
const GIVEN_UP_MS = 600_000;
const BATCH = 100;
/** So many conversations are gone on with at once; the others a sweep finds. */
const MOST_AT_ONCE = 4;

export function createFollowUps(deps: FollowUpDeps): FollowUps {
  const { turns, store, log } = deps;
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();

  function begin(tenant: string, turn: TurnDocument): void {
    const { turnId } = turn;
    if (stopping.signal.aborted || running.has(turnId) || running.size >= MOST_AT_ONCE) return;
    const done = goOn(deps, tenant, { turn, signal: stopping.signal })
      .catch((err: unknown) => {
        if (!stopping.signal.aborted)
          log.warn({ turnId, err, errorKind: 'dependency', hint: 'a sweep tries it again' }, 'a turn was not gone on from');
      })
      .finally(() => running.delete(turnId));
    running.set(turnId, done);
  }

  return {
    wanted: (turn) => mayFollow(deps, turn),
    consider: begin,
    async sweep() {
      const unfollowed = { gt: 0, lte: store.now() - LATE_MS };
      const { items } = await turns.system().find({ unfollowed }, { sort: [['unfollowed', 'asc']], limit: BATCH });
      for (const { tenant, ...turn } of items) begin(tenant, turn);
    },
    async [Symbol.asyncDispose]() {
      stopping.abort(new ServiceError('CANCELLED', 'This process ends.'));
      await Promise.all(running.values());
    },
  };
}

function mayFollow({ settings }: Pick<FollowUpDeps, 'settings'>, { follows }: Pick<TurnDocument, 'follows'>): boolean {
  const { followupOnCompaction, maxFollowupRuns } = settings.current.queue.followup;
  return followupOnCompaction && (follows?.run ?? 0) < maxFollowupRuns;
}

interface GoingOn {
  turn: TurnDocument;
  signal: AbortSignal;
}

async function goOn(deps: FollowUpDeps, tenant: string, { turn, signal }: GoingOn): Promise<void> {
  const found = mayFollow(deps, turn) ? await roomFor(deps, tenant, { turn, signal }).catch(unlessGivenUp(deps, turn)) : 'none';
  if (found === 'later') return;
  if (found === 'room') await follow(deps, tenant, turn);
  await deps.turns.for({ tenant }).update({ turnId: turn.turnId, unfollowed: { gt: 0 } }, { unset: ['unfollowed'] });
}

/** What fails is tried again, and not for ever. */
function unlessGivenUp({ store }: FollowUpDeps, { unfollowed = 0 }: TurnDocument): (error: unknown) => 'none' {
  return (error) => {
    if (store.now() - unfollowed < GIVEN_UP_MS) throw error;
    return 'none';
  };
}

/** Whether there is room for a turn to go on: only where its conversation was made shorter since, and nothing was said in it. */
async function roomFor(deps: FollowUpDeps, tenant: string, { turn, signal }: GoingOn): Promise<'room' | 'none' | 'later'> {
  const { sessions, agents, compaction, store } = deps;
  const { sessionKey, unfollowed = 0 } = turn;
  const there = await sessions.for({ tenant }).get(sessionKey);
  const agent = agents.find(tenant, turn.agentId);
  // Until the registry has spoken, nobody knows.
  if (!agent && agents.all(tenant).length === 0) return 'later';
  if (!there) return 'none';
  // Whoever counts it has not done so yet.
  if (there.epoch === turn.epoch && there.lastSeq < (turn.seq ?? 0)) return 'later';
  if (there.depth > 0 || !agent || agent.suspended || !isLast(there, turn)) return 'none';
  if (isShorter(there, turn)) return 'room';
  const given = store.now() - unfollowed < GIVEN_UP_MS ? 'later' : 'none';
  try {
    const { session } = await compaction.compact(tenant, there, { signal });
    if (isShorter(session, turn)) return isLast(session, turn) ? 'room' : 'none';
  } catch (error) {
    if (signal.aborted || !(error instanceof ServiceError)) throw error;
    return error.retryable ? given : 'none';
  }
  const now = await sessions.for({ tenant }).get(sessionKey);
  const somebodyIsAtIt = (now?.compactUntil ?? 0) > store.now() || (now !== null && isShorter(now, turn));
  return somebodyIsAtIt ? given : 'none';
}

/** Nothing came after it, and its conversation is the same. */
function isLast({ epoch, lastSeq }: Pick<SessionDocument, 'epoch' | 'lastSeq'>, turn: Pick<TurnDocument, 'epoch' | 'seq'>): boolean {
  return epoch === turn.epoch && lastSeq === turn.seq;
}

function isShorter({ compactSeq = 0 }: SessionDocument, { seq = Infinity }: TurnDocument): boolean {
  return compactSeq >= seq;
}

/** Written, then put into its queue; a second time nothing comes of either. */
async function follow(deps: FollowUpDeps, tenant: string, before: TurnDocument): Promise<void> {
  const turns = deps.turns.for({ tenant });
  const turn = await written(turns, followUpOf(deps, before));
  if (hasEnded(turn)) return;
  try {
    await deps.enter(tenant, turn);
  } catch (error) {
    if (!isQueueFull(error)) throw error;
    const ending = { turn, fence: 0, lastFrame: 1, now: deps.store.now() };
    await commitFailure(turns, ending, toFailure(overtaken(), turn));
  }
}

async function written(turns: Documents<TurnDocument>, turn: TurnDocument): Promise<TurnDocument> {
  try {
    await turns.insert(turn);
    return turn;
  } catch (error) {
    const there = error instanceof ServiceError && error.code === 'ALREADY_EXISTS' ? await turns.get(turn.turnId) : null;
    if (!there) throw error;
    return there;
  }
}

/** For whom and as what the turn before it ran, so that it may do and use no more. */
function followUpOf({ store, settings }: FollowUpDeps, before: TurnDocument): TurnDocument {
  const { turnId, sessionKey, agentId, client, scopes, sessions, budgets, agents, model, timeoutMs, epoch = '', seq = 0 } = before;
  const lane = lanesOf(settings.current.queue)?.followUp;
  const id = followUpId(turnId);
  return {
    turnId: id,
    sessionKey,
    agentId,
    message: { chars: GO_ON.length, text: GO_ON },
    client,
    scopes,
    sessions,
    ...(budgets && { budgets }),
    ...(agents && { agents }),
    ...(model !== undefined && { model }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    fingerprint: id,
    follows: { turnId, run: (before.follows?.run ?? 0) + 1, epoch, seq },
    ...(lane !== undefined && { lane }),
    ...unbegun(store.now()),
  };
}

/** The turn with which a conversation goes on after this one. */
export function followUpId(turnId: string): string {
  return deriveId('turn', turnId, 'follow-up');
}

/**
 * Whether a turn that nobody sent may still begin, asked under the lease of its session: not after a reset, not after anybody has said
 * something, not after somebody wanted nothing more of it, and not of an agent that is suspended. Fails with what then ends it.
 */
export async function requireFollowing(
  turns: Documents<TurnDocument>,
  { turn, session, suspended }: { turn: TurnDocument; session: SessionDocument; suspended: boolean },
): Promise<void> {
  const { follows } = turn;
  if (!follows) return;
  if (!isLast(session, follows)) throw overtaken();
  if (suspended) throw agentSuspended(turn.agentId);
  if ((await turns.get(follows.turnId))?.unfollowed === 0) throw turnCancelled();
}

/** The same of whichever turn was the last of a conversation, where it is this client's. */
export async function forbidAfter(turns: Documents<TurnDocument>, { epoch, lastSeq }: SessionDocument, client: string): Promise<void> {
  if (lastSeq > 0) await turns.update({ epoch, seq: lastSeq, client, unfollowed: { gt: 0 } }, { set: { unfollowed: 0 } });
}

/** Nobody wants a conversation to go on by itself after this turn. Whoever enters one for it after this finds that out. */
export async function forbidFollowUp(turns: Documents<TurnDocument>, turnId: string): Promise<void> {
  await turns.update({ turnId, state: 'done', unfollowed: { gt: 0 } }, { set: { unfollowed: 0 } });
}
