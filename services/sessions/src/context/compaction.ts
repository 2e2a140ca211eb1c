import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { Agent, AgentDirectory } from '../agents.ts';
import type { SessionDocument } from '../data.ts';
import { compactionModel } from './compaction-model.ts';
import { makeOne, type MakingDeps } from './make-summary.ts';
import { roomOf } from './room.ts';
import { createSpending } from './spending.ts';
import { createSummarisers } from './summarisers.ts';
import { sizeOf } from './tree.ts';

export interface CompactionDeps extends Omit<MakingDeps, 'spending' | 'summarisers'> {
  agents: AgentDirectory;
  log: Logger;
}

/** Keeps conversations within what their models can be told, by summaries of what was said first. Everything said stays. */
export interface Compaction extends AsyncDisposable {
  /** A turn was counted: where its conversation is too long by now, it is made shorter. Returns at once, and never fails. */
  consider(tenant: string, session: SessionDocument): void;
  /** The same now, whether it is too long or not. Gives the session as it is then. Fails as a model does; what was made until then stays. */
  compact(tenant: string, session: SessionDocument, asked: Compacting): Promise<{ session: SessionDocument; made: number }>;
}

export interface Compacting {
  signal: AbortSignal;
  /** What the summaries are to keep above all. */
  instructions?: string | undefined;
}

/** So many conversations are made shorter at once in this process; of the others the next turn reminds it. */
const MOST_AT_ONCE = 2;
/** Of one conversation so many summaries in a row. */
const MOST_IN_A_ROW = 20;
/** A conversation whose summary failed is left alone for so long. */
const REST_MS = 60_000;
const MOST_RESTING = 10_000;
/** Nothing shorter is ever too long. */
const SHORT_CHARS = 64;
/** How long a conversation of an agent may be is looked up no more often: models may change, and nearly no turn needs to know. */
const KNOWN_MS = 60_000;

/** In pipeline mode a summary is not made again at once, so that what models are told stays the same, and cached, for some turns. */
function isCoolingDown({ config }: Agent, session: SessionDocument, room: number): boolean {
  const { version, compactionCooldownTurns } = config.contextEngine;
  if (version !== 'pipeline' || session.compactSeq === undefined || sizeOf(session) > room) return false;
  return session.lastSeq - session.compactSeq < compactionCooldownTurns;
}

export function createCompaction(deps: CompactionDeps): Compaction {
  const { agents, models, clock, log } = deps;
  const making: MakingDeps = { ...deps, spending: createSpending(clock), summarisers: createSummarisers({ models, clock }) };
  const running = new Map<string, Promise<void>>();
  const resting = new Map<string, number>();
  const stopping = new AbortController();
  const known = new WeakMap<Agent, { most: number; at: number }>();

  async function shorten(tenant: string, seen: SessionDocument): Promise<void> {
    const agent = agents.find(tenant, seen.agentId);
    if (!agent?.config.contextEngine.enabled) return;
    const { model, timeoutMs } = await compactionModel(models, agent);
    const room = await roomOf(models, agent, model);
    const most = room * agent.config.contextEngine.contextThreshold;
    known.set(agent, { most, at: clock.now() });
    if (isCoolingDown(agent, seen, room)) return;
    const given = { tenant, agent, model, timeoutMs, room, signal: stopping.signal, forced: false, instructions: undefined };
    let session: SessionDocument | null = seen;
    for (let n = 0; session && sizeOf(session) > most && n < MOST_IN_A_ROW; n += 1) session = await makeOne(making, session, given);
  }

  /** As far as is known, so that most turns cost nothing here. */
  function isShort(tenant: string, session: SessionDocument): boolean {
    const size = sizeOf(session);
    const agent = agents.find(tenant, session.agentId);
    const limit = agent && known.get(agent);
    return size <= SHORT_CHARS || (limit !== undefined && clock.now() - limit.at < KNOWN_MS && size <= limit.most);
  }

  function rest(name: string): void {
    resting.delete(name);
    resting.set(name, clock.now() + REST_MS);
    const [oldest] = resting.keys();
    if (resting.size > MOST_RESTING && oldest !== undefined) resting.delete(oldest);
  }

  return {
    consider(tenant, session) {
      const name = `${tenant} ${session.key}`;
      if (stopping.signal.aborted || isShort(tenant, session)) return;
      if (running.has(name) || running.size >= MOST_AT_ONCE || (resting.get(name) ?? 0) > clock.now()) return;
      const done = shorten(tenant, session)
        .catch((err: unknown) => {
          rest(name);
          if (stopping.signal.aborted) return;
          log.warn(
            { session: session.key, err, errorKind: 'dependency', hint: 'it is tried again after a later turn' },
            'conversation not shortened',
          );
        })
        .finally(() => running.delete(name));
      running.set(name, done);
    },

    async compact(tenant, seen, { signal, instructions }) {
      const agent = agents.find(tenant, seen.agentId) ?? agents.default(tenant);
      const { model, timeoutMs } = await compactionModel(models, agent);
      const room = await roomOf(models, agent, model);
      const given = { tenant, agent, model, timeoutMs, room, signal, forced: true, instructions };
      let session = seen;
      let made = 0;
      for (; made < MOST_IN_A_ROW; made += 1) {
        const next = await makeOne(making, session, given);
        if (!next) break;
        session = next;
      }
      return { session, made };
    },

    async [Symbol.asyncDispose]() {
      stopping.abort(new ServiceError('CANCELLED', 'This process ends.'));
      await Promise.all(running.values());
    },
  };
}
