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
 * A turn that fills the context window ends. Once its conversation is compacted, it can be continued. The write that ends the turn sets
 * `unfollowed`; the field is removed when the continuation is enqueued or not possible, and set to 0 when a client forbids it. After a
 * crash a sweep handles the pending field. The id of the continuation is derived from the id of the turn, so that there is only one.
 */

/** Prompt of an auto-continued turn. No client sent it. */
export const GO_ON =
  'Your last turn ended because there was no room left for it. What was said before is told in short by now. Go on where you were, and do what is left to be done.';

/** Continues conversations automatically. Turns never wait for it. */
export interface FollowUps extends AsyncDisposable {
  /** Returns whether a turn that filled its context window may be continued. */
  wanted(turn: Pick<TurnDocument, 'follows'>): boolean;
  /** Considers a turn that was just counted. Returns immediately; failures are retried by a sweep. */
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
  /** Enqueues a stored turn, unless it is in the queue already. */
  enter: (tenant: string, turn: TurnDocument) => Promise<void>;
}

/** Age after which a pending turn is swept. Its process died or could not continue it. */
const LATE_MS = 1_000;
/** Age after which a pending turn is given up. */
const GIVEN_UP_MS = 600_000;
const BATCH = 100;
/** Maximum number of concurrent continuations. The others are left to a sweep. */
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

/** Retries failures until the turn is given up. */
function unlessGivenUp({ store }: FollowUpDeps, { unfollowed = 0 }: TurnDocument): (error: unknown) => 'none' {
  return (error) => {
    if (store.now() - unfollowed < GIVEN_UP_MS) throw error;
    return 'none';
  };
}

/** Checks whether the conversation can be continued: it was compacted since, and received no message. */
async function roomFor(deps: FollowUpDeps, tenant: string, { turn, signal }: GoingOn): Promise<'room' | 'none' | 'later'> {
  const { sessions, agents, compaction, store } = deps;
  const { sessionKey, unfollowed = 0 } = turn;
  const there = await sessions.for({ tenant }).get(sessionKey);
  const agent = agents.find(tenant, turn.agentId);
  // No agents are known until the registry has published them.
  if (!agent && agents.all(tenant).length === 0) return 'later';
  if (!there) return 'none';
  // The turn has not been counted yet.
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

/** Returns whether the turn is still the last one of the same conversation. */
function isLast({ epoch, lastSeq }: Pick<SessionDocument, 'epoch' | 'lastSeq'>, turn: Pick<TurnDocument, 'epoch' | 'seq'>): boolean {
  return epoch === turn.epoch && lastSeq === turn.seq;
}

function isShorter({ compactSeq = 0 }: SessionDocument, { seq = Infinity }: TurnDocument): boolean {
  return compactSeq >= seq;
}

/** Inserts and enqueues the continuation. Repeating either step has no effect. */
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

/** Copies client, agent, scopes and limits of the previous turn. */
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

/** Returns the id of the turn that continues this one. */
export function followUpId(turnId: string): string {
  return deriveId('turn', turnId, 'follow-up');
}

/**
 * Checks, under the session lease, that a continuation may still start: no reset, no newer message, no cancellation, and the agent is not
 * suspended. Throws the error that then ends the turn.
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

/** Forbids the continuation of the last turn of a conversation if it belongs to this client. */
export async function forbidAfter(turns: Documents<TurnDocument>, { epoch, lastSeq }: SessionDocument, client: string): Promise<void> {
  if (lastSeq > 0) await turns.update({ epoch, seq: lastSeq, client, unfollowed: { gt: 0 } }, { set: { unfollowed: 0 } });
}

/** Forbids the continuation of a turn. A continuation that is enqueued later detects this when it starts. */
export async function forbidFollowUp(turns: Documents<TurnDocument>, turnId: string): Promise<void> {
  await turns.update({ turnId, state: 'done', unfollowed: { gt: 0 } }, { set: { unfollowed: 0 } });
}
