import { ServiceError } from '@switchyard/contracts';
import { deriveId } from '@switchyard/security';
import type { Settings } from '@switchyard/service-kit';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { AgentDirectory } from '../../agents/agent-directory.ts';
import type { Compaction } from '../../context/compaction/compaction.ts';
import { loadRemainingTools } from '../../model/remaining-tools.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import { type TurnDocument, hasEnded, newTurnFields } from '../../model/turn-document.ts';
import { isQueueFull } from '../../queue/session-queue.ts';
import { getLanes } from '../../queue/lanes.ts';
import { agentSuspended, turnOvertaken, turnCancelled } from '../store/turn-errors.ts';
import { toFailure } from '../store/turn-failure.ts';
import { commitFailure } from '../store/turn-store.ts';

/*
 * A turn that fills the context window ends. Once its conversation is compacted, it can be continued. The write that ends the turn sets
 * `continuePendingSince`; the field is removed when the continuation is enqueued or not possible, and set to 0 when a client forbids it.
 * After a crash a sweep handles the pending field. The id of the continuation is derived from the id of the turn, so that there is only
 * one.
 */

/** Prompt of an auto-continued turn. No client sent it. */
export const CONTINUE_PROMPT =
  'Your last turn ended because the context was full. The earlier conversation has been summarized. Continue where you stopped and finish the remaining work.';

/** Continues conversations automatically. Turns never wait for it. */
export interface AutoContinue extends AsyncDisposable {
  /** Returns whether a turn that filled its context window may be continued. */
  canContinue(turn: Pick<TurnDocument, 'continuationOf'>): boolean;
  /** Considers a turn that was just counted. Returns immediately; failures are retried by a sweep. */
  consider(tenant: string, turn: TurnDocument): void;
  sweep(): Promise<void>;
}

export interface AutoContinueDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  agents: AgentDirectory;
  compaction: Compaction;
  settings: Settings<'queue'>;
  store: Pick<Store, 'now'>;
  log: Logger;
  /** Enqueues a stored turn, unless it is in the queue already. */
  enqueue: (tenant: string, turn: TurnDocument) => Promise<void>;
}

/** Age after which a pending turn is swept. Its process died or could not continue it. */
const SWEEP_DELAY_MS = 1_000;
/** Age after which a pending turn is given up. */
const GIVE_UP_TIMEOUT_MS = 600_000;
const BATCH = 100;
/** Maximum number of concurrent continuations. The others are left to a sweep. */
const MAX_CONCURRENT = 4;

export function createAutoContinue(deps: AutoContinueDeps): AutoContinue {
  const { turns, store, log } = deps;
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();

  function begin(tenant: string, turn: TurnDocument): void {
    const { turnId } = turn;
    if (stopping.signal.aborted || running.has(turnId) || running.size >= MAX_CONCURRENT) return;
    const done = continueConversation(deps, tenant, { turn, signal: stopping.signal })
      .catch((err: unknown) => {
        if (!stopping.signal.aborted)
          log.warn({ turnId, err, errorKind: 'dependency', hint: 'a sweep retries' }, 'failed to continue a turn');
      })
      .finally(() => running.delete(turnId));
    running.set(turnId, done);
  }

  return {
    canContinue: (turn) => isContinueAllowed(deps, turn),
    consider: begin,
    async sweep() {
      const continuePendingSince = { gt: 0, lte: store.now() - SWEEP_DELAY_MS };
      const { items } = await turns.system().find({ continuePendingSince }, { sort: [['continuePendingSince', 'asc']], limit: BATCH });
      for (const { tenant, ...turn } of items) begin(tenant, turn);
    },
    async [Symbol.asyncDispose]() {
      stopping.abort(new ServiceError('CANCELLED', 'The process is shutting down.'));
      await Promise.all(running.values());
    },
  };
}

function isContinueAllowed(
  { settings }: Pick<AutoContinueDeps, 'settings'>,
  { continuationOf }: Pick<TurnDocument, 'continuationOf'>,
): boolean {
  const { followupOnCompaction, maxFollowupRuns } = settings.current.queue.followup;
  return followupOnCompaction && (continuationOf?.run ?? 0) < maxFollowupRuns;
}

interface ContinueOptions {
  turn: TurnDocument;
  signal: AbortSignal;
}

async function continueConversation(deps: AutoContinueDeps, tenant: string, { turn, signal }: ContinueOptions): Promise<void> {
  const found = isContinueAllowed(deps, turn)
    ? await checkRoom(deps, tenant, { turn, signal }).catch(giveUpAfterTimeout(deps, turn))
    : 'none';
  if (found === 'later') return;
  if (found === 'room') await enqueueContinuation(deps, tenant, turn);
  await deps.turns.for({ tenant }).update({ turnId: turn.turnId, continuePendingSince: { gt: 0 } }, { unset: ['continuePendingSince'] });
}

/** Retries failures until the turn is given up. */
function giveUpAfterTimeout({ store }: AutoContinueDeps, { continuePendingSince = 0 }: TurnDocument): (error: unknown) => 'none' {
  return (error) => {
    if (store.now() - continuePendingSince < GIVE_UP_TIMEOUT_MS) throw error;
    return 'none';
  };
}

/** Checks whether the conversation can be continued: it was compacted since, and received no message. */
async function checkRoom(deps: AutoContinueDeps, tenant: string, { turn, signal }: ContinueOptions): Promise<'room' | 'none' | 'later'> {
  const { sessions, agents, compaction, store } = deps;
  const { sessionKey, continuePendingSince = 0 } = turn;
  const existing = await sessions.for({ tenant }).get(sessionKey);
  const agent = agents.find(tenant, turn.agentId);
  // No agents are known until the registry has published them.
  if (!agent && agents.all(tenant).length === 0) return 'later';
  if (!existing) return 'none';
  // The turn has not been counted yet.
  if (existing.epoch === turn.epoch && existing.lastSeq < (turn.seq ?? 0)) return 'later';
  if (existing.depth > 0 || !agent || agent.suspended || !isLast(existing, turn)) return 'none';
  if (isCompacted(existing, turn)) return 'room';
  const laterOrNone = store.now() - continuePendingSince < GIVE_UP_TIMEOUT_MS ? 'later' : 'none';
  try {
    const { session } = await compaction.compact(tenant, existing, { signal });
    if (isCompacted(session, turn)) return isLast(session, turn) ? 'room' : 'none';
  } catch (error) {
    if (signal.aborted || !(error instanceof ServiceError)) throw error;
    return error.retryable ? laterOrNone : 'none';
  }
  const now = await sessions.for({ tenant }).get(sessionKey);
  const somebodyIsAtIt = (now?.compactUntil ?? 0) > store.now() || (now !== null && isCompacted(now, turn));
  return somebodyIsAtIt ? laterOrNone : 'none';
}

/** Returns whether the turn is still the last one of the same conversation. */
function isLast({ epoch, lastSeq }: Pick<SessionDocument, 'epoch' | 'lastSeq'>, turn: Pick<TurnDocument, 'epoch' | 'seq'>): boolean {
  return epoch === turn.epoch && lastSeq === turn.seq;
}

function isCompacted({ compactSeq = 0 }: SessionDocument, { seq = Infinity }: TurnDocument): boolean {
  return compactSeq >= seq;
}

/** Inserts and enqueues the continuation. Repeating either step has no effect. */
async function enqueueContinuation(deps: AutoContinueDeps, tenant: string, before: TurnDocument): Promise<void> {
  const turns = deps.turns.for({ tenant });
  const tools = await loadRemainingTools(deps.bodies.for({ tenant }), before);
  const turn = await insertOnce(turns, buildContinuation(deps, { ...before, tools }));
  if (hasEnded(turn)) return;
  try {
    await deps.enqueue(tenant, turn);
  } catch (error) {
    if (!isQueueFull(error)) throw error;
    const ending = { turn, fence: 0, lastFrame: 1, now: deps.store.now() };
    await commitFailure(turns, ending, toFailure(turnOvertaken(), turn));
  }
}

async function insertOnce(turns: Documents<TurnDocument>, turn: TurnDocument): Promise<TurnDocument> {
  try {
    await turns.insert(turn);
    return turn;
  } catch (error) {
    const existing = error instanceof ServiceError && error.code === 'ALREADY_EXISTS' ? await turns.get(turn.turnId) : null;
    if (!existing) throw error;
    return existing;
  }
}

/** Copies client, agent, scopes, remaining tools and limits of the previous turn. */
function buildContinuation({ store, settings }: AutoContinueDeps, before: TurnDocument): TurnDocument {
  const { turnId, sessionKey, agentId, client, scopes, sessions, budgets, agents, model, timeoutMs, tools, epoch = '', seq = 0 } = before;
  const lane = getLanes(settings.current.queue)?.autoContinue;
  const id = continuationId(turnId);
  return {
    turnId: id,
    sessionKey,
    agentId,
    message: { chars: CONTINUE_PROMPT.length, text: CONTINUE_PROMPT },
    client,
    scopes,
    sessions,
    ...(budgets && { budgets }),
    ...(agents && { agents }),
    ...(model !== undefined && { model }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(tools && { tools }),
    fingerprint: id,
    continuationOf: { turnId, run: (before.continuationOf?.run ?? 0) + 1, epoch, seq },
    ...(lane !== undefined && { lane }),
    ...newTurnFields(store.now()),
  };
}

/** Returns the id of the turn that continues this one. */
export function continuationId(turnId: string): string {
  return deriveId('turn', turnId, 'follow-up');
}

/**
 * Checks, under the session lease, that a continuation may still start: no reset, no newer message, no cancellation, and the agent is not
 * suspended. Throws the error that then ends the turn.
 */
export async function requireContinuable(
  turns: Documents<TurnDocument>,
  { turn, session, suspended }: { turn: TurnDocument; session: SessionDocument; suspended: boolean },
): Promise<void> {
  const { continuationOf } = turn;
  if (!continuationOf) return;
  if (!isLast(session, continuationOf)) throw turnOvertaken();
  if (suspended) throw agentSuspended(turn.agentId);
  if ((await turns.get(continuationOf.turnId))?.continuePendingSince === 0) throw turnCancelled();
}

/** Forbids the continuation of the last turn of a conversation if it belongs to this client. */
export async function forbidContinuationOfLast(
  turns: Documents<TurnDocument>,
  { epoch, lastSeq }: SessionDocument,
  client: string,
): Promise<void> {
  if (lastSeq > 0)
    await turns.update({ epoch, seq: lastSeq, client, continuePendingSince: { gt: 0 } }, { set: { continuePendingSince: 0 } });
}

/** Forbids the continuation of a turn. A continuation that is enqueued later detects this when it starts. */
export async function forbidContinuation(turns: Documents<TurnDocument>, turnId: string): Promise<void> {
  await turns.update({ turnId, state: 'done', continuePendingSince: { gt: 0 } }, { set: { continuePendingSince: 0 } });
}
