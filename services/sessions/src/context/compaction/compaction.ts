import { ServiceError } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import type { ModelRef } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { Agent, AgentDirectory } from '../../agents/agent-directory.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import { getAgentModel } from '../../agents/agent-model.ts';
import { limitsIn, type CompactionLimits } from './compaction-limits.ts';
import { compactionModel } from './compaction-model.ts';
import { makeOne, type MakingDeps } from './summary-builder.ts';
import { getHistoryChars } from '../../context-window/context-window.ts';
import { createSpending } from './summary-spending.ts';
import { createSummarisers } from './summarizer-selection.ts';
import { getSize } from './summary-tree.ts';

export interface CompactionDeps extends Omit<MakingDeps, 'spending' | 'summarisers'> {
  agents: AgentDirectory;
  log: Logger;
}

/** Keeps conversations within the context window of their models by summarizing the oldest messages. The messages stay stored. */
export interface Compaction extends AsyncDisposable {
  /** Called after a counted turn. Starts a compaction in the background if the conversation is too long. Never throws. */
  consider(tenant: string, session: SessionDocument): void;
  /**
   * Called before a turn builds its prompt. Compacts the conversation if the agent does not defer compaction, or if the hard limit is
   * exceeded. Returns undefined if the turn has nothing to wait for. A failed compaction does not reject.
   */
  prepare(tenant: string, session: SessionDocument, turn: Preparing): Promise<SessionDocument> | undefined;
  /**
   * Compacts a conversation of any length and returns the updated session. Throws the error of the model. Summaries made before the
   * error remain.
   */
  compact(tenant: string, session: SessionDocument, request: Compacting): Promise<{ session: SessionDocument; made: number }>;
}

type ExceededLimit = keyof CompactionLimits;

export interface Preparing {
  signal: AbortSignal;
  /** Remaining milliseconds of the turn. */
  left: () => number;
}

export interface Compacting {
  signal: AbortSignal;
  /** Instructions about the content of the summaries. */
  instructions?: string | undefined;
}

/** Maximum number of concurrent compactions in this process. Other conversations are considered again after their next turn. */
const MAX_CONCURRENT_COMPACTIONS = 2;
/** Maximum number of consecutive summaries of one conversation. */
const MAX_CONSECUTIVE_SUMMARIES = 20;
/** Pause after a failed summary of a conversation. */
const REST_MS = 60_000;
const MAX_RESTING = 10_000;
/** A shorter conversation is never compacted. */
const SHORT_CHARS = 64;
/** Maximum share of a turn's time for waiting on compaction. */
const TURN_SHARE = 0.5;
/** Time for which the limits of an agent are cached. Models can change, and hardly any turn needs the exact limits. */
const KNOWN_MS = 60_000;

/** Returns true during the cooldown of pipeline mode. The prompt prefix then stays the same and cached for some turns. */
function isCoolingDown({ config }: Agent, session: SessionDocument, hard: number): boolean {
  const { version, compactionCooldownTurns } = config.contextEngine;
  if (version !== 'pipeline' || session.compactSeq === undefined || getSize(session) > hard) return false;
  return session.lastSeq - session.compactSeq < compactionCooldownTurns;
}

export function createCompaction(deps: CompactionDeps): Compaction {
  const { agents, models, clock, log } = deps;
  const making: MakingDeps = { ...deps, spending: createSpending(clock), summarisers: createSummarisers({ models, clock }) };
  const running = new Map<string, Promise<void>>();
  const resting = new LRUCache<string, true>({ max: MAX_RESTING, ttl: REST_MS, ttlResolution: 0, perf: clock });
  const stopping = new AbortController();
  const known = new WeakMap<Agent, CompactionLimits & { at: number }>();

  async function shorten(
    tenant: string,
    seen: SessionDocument,
    { signal, beyond, made }: { signal: AbortSignal; beyond: ExceededLimit; made?: (session: SessionDocument) => void },
  ): Promise<void> {
    const agent = agents.find(tenant, seen.agentId);
    if (!agent?.config.contextEngine.enabled) return;
    const { model, timeoutMs } = await compactionModel(models, agent);
    const room = await roomFor(agent, model);
    const limits = limitsIn(room, agent);
    known.set(agent, { ...limits, at: clock.now() });
    if (isCoolingDown(agent, seen, limits.hard)) return;
    const options = { tenant, agent, model, timeoutMs, room, signal, forced: false, instructions: undefined };
    let session: SessionDocument | null = seen;
    for (let n = 0; session && getSize(session) > limits[beyond] && n < MAX_CONSECUTIVE_SUMMARIES; n += 1) {
      session = await makeOne(making, session, options);
      if (session) made?.(session);
    }
  }

  /** Returns the room of the summarizer, limited to the room of the agent's own model. */
  async function roomFor(agent: Agent, model: ModelRef): Promise<number> {
    const own = await getAgentModel(agent, models).catch(() => model);
    return Math.min(await getHistoryChars(models, agent, model), await getHistoryChars(models, agent, own));
  }

  /** Waits for a compaction that is already running here, and then reads the conversation again. */
  async function shortened(
    tenant: string,
    seen: SessionDocument,
    { signal, left, beyond }: Preparing & { beyond: ExceededLimit },
  ): Promise<SessionDocument> {
    const name = `${tenant} ${seen.key}`;
    let session = seen;
    using late = stopwatch(clock, left() * TURN_SHARE);
    const within = AbortSignal.any([signal, stopping.signal, late.signal]);
    try {
      const underWay = running.get(name);
      if (underWay) {
        await unlessAborted(underWay, within);
        session = await asItIs(tenant, seen);
      }
      await shorten(tenant, session, { signal: within, beyond, made: (shorter) => void (session = shorter) });
    } catch (err) {
      failed(name, seen, err);
    }
    signal.throwIfAborted();
    return session;
  }

  async function asItIs(tenant: string, seen: SessionDocument): Promise<SessionDocument> {
    const there = await deps.sessions.for({ tenant }).get(seen.key);
    return there?.epoch === seen.epoch ? there : seen;
  }

  function failed(name: string, session: SessionDocument, err: unknown): void {
    rest(name);
    if (stopping.signal.aborted) return;
    log.warn(
      { session: session.key, err, errorKind: 'dependency', hint: 'retrying after a later turn' },
      'failed to compact the conversation',
    );
  }

  function isResting(name: string): boolean {
    return resting.has(name);
  }

  /** Checks the size without any read, so that most turns cost nothing here. */
  function isShort(agent: Agent | undefined, session: SessionDocument, beyond: ExceededLimit): boolean {
    const size = getSize(session);
    const limits = agent && known.get(agent);
    return size <= SHORT_CHARS || (limits !== undefined && clock.now() - limits.at < KNOWN_MS && size <= limits[beyond]);
  }

  function rest(name: string): void {
    resting.set(name, true);
  }

  return {
    consider(tenant, session) {
      const name = `${tenant} ${session.key}`;
      const agent = agents.find(tenant, session.agentId);
      if (stopping.signal.aborted || isShort(agent, session, 'soft')) return;
      if (running.has(name) || running.size >= MAX_CONCURRENT_COMPACTIONS || isResting(name)) return;
      if (agent?.config.contextEngine.deferCompaction === false) return;
      const done = shorten(tenant, session, { signal: stopping.signal, beyond: 'soft' })
        .catch((err: unknown) => failed(name, session, err))
        .finally(() => running.delete(name));
      running.set(name, done);
    },

    prepare(tenant, seen, preparing) {
      const agent = agents.find(tenant, seen.agentId);
      const beyond = agent?.config.contextEngine.deferCompaction === false ? 'soft' : 'hard';
      if (stopping.signal.aborted || isShort(agent, seen, beyond) || isResting(`${tenant} ${seen.key}`)) return undefined;
      return shortened(tenant, seen, { ...preparing, beyond });
    },

    async compact(tenant, seen, { signal, instructions }) {
      const agent = agents.find(tenant, seen.agentId) ?? agents.default(tenant);
      const { model, timeoutMs } = await compactionModel(models, agent);
      const room = await roomFor(agent, model);
      const given = { tenant, agent, model, timeoutMs, room, signal, forced: true, instructions };
      let session = seen;
      let createdCount = 0;
      for (; createdCount < MAX_CONSECUTIVE_SUMMARIES; createdCount += 1) {
        const next = await makeOne(making, session, given);
        if (!next) break;
        session = next;
      }
      return { session, made: createdCount };
    },

    async [Symbol.asyncDispose]() {
      stopping.abort(new ServiceError('CANCELLED', 'The process is shutting down.'));
      await Promise.all(running.values());
    },
  };
}

/** Rejects when the caller aborts. The work continues. */
function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject, resolve } = Promise.withResolvers<void>();
  const leave = (): void => reject(signal.reason as Error);
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  void work.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener('abort', leave));
}

/** Returns a signal that aborts after `ms`. */
function stopwatch(clock: Pick<Clock, 'after'>, ms: number): Disposable & { signal: AbortSignal } {
  const late = new AbortController();
  const stop = clock.after(ms, () => {
    late.abort(
      new ServiceError('DEADLINE_EXCEEDED', 'The turn continues with its present context.', { details: { reason: 'SUMMARY_TIMEOUT' } }),
    );
  });
  return { signal: late.signal, [Symbol.dispose]: stop };
}
