import { bucketKeyParts } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import type { ModelRef } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Agent } from '../agents/agent-directory.ts';
import { createBeginnings } from '../context/history-prefix-cache.ts';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { agentKeyOf, inLane, laneOfWaiting, readEntry, waitsForOf } from '../model/queue-entry.ts';
import { lanesOf } from '../queue/lanes.ts';
import { claim } from '../queue/session-queue.ts';
import { debounceOf, queueMode } from '../queue/queue-policy.ts';
import { createClaims, type Claims } from '../queue/claim-batch-size.ts';
import { acceptedFrame, createFrameWriter } from '../frames/frame-publisher.ts';
import { leaseLost, type Hold } from '../queue/session-lease.ts';
import { createLaneOrder, type LaneOrder } from '../queue/lane-scheduler.ts';
import { onceAtATime } from '../queue/coalesce.ts';
import { createRecall } from '../context/exchange-cache.ts';
import { createRota, type Rota } from '../queue/fair-scheduler.ts';
import { observeTurns } from './store/turn-metrics.ts';
import { createSlots, type Slot, type SlotLimits, type Slots } from '../queue/concurrency-slots.ts';
import { work, type First, type WorkDeps } from './execution/session-worker.ts';

/** Maximum number of cached ids of announced turns, and of followed turns. */
const MAX_CACHED_TURNS = 10_000;
/** Share of the shutdown time for turns without waiting callers. Awaited turns were drained before. */
const DRAIN_SHARE = 1 / 4;
/** Maximum characters of cached conversation text. */
const RECALLED_CHARS = 8_388_608;
/** Minimum interval between wake messages to other replicas. */
const RING_MS = 100;
/** Maximum number of agents per poll. */
const MOST_AGENTS = 1_000;
/** Maximum concurrent claims per agent. */
const MOST_CLAIMS = 32;
/** Maximum number of overdue turns ended per agent and poll. */
const MOST_OVERDUE = 1_000;

export interface LauncherDeps extends Omit<
  WorkDeps,
  'wasAnnounced' | 'isFollowed' | 'recall' | 'beginnings' | 'modeOf' | 'mostGathered' | 'stopping' | 'mayGoOn' | 'waitTimeoutMs'
> {
  settings: Settings<'queue' | 'daemon' | 'routing'>;
}

/** Runs accepted turns: one at a time per session, and as many in parallel as there are slots. */
export interface Launcher extends AsyncDisposable {
  /** Reserves a slot for an arriving turn if one is free and no waiting turn is entitled to it. */
  reserve(tenant: string, agent: Agent, lane: string | undefined): Slot | undefined;
  /** Returns whether such a slot is free. */
  hasRoom(tenant: string, agent: Agent, lane: string | undefined): boolean;
  /** Releases a reserved slot that was not used. */
  unreserve(slot: Slot): void;
  /** Publishes the accepted frame of a turn. */
  announce(tenant: string, turn: TurnDocument, model: ModelRef): void;
  /** A reader follows the turn from now on. */
  follow(turnId: string): void;
  /** Works on a session whose lease was taken with this turn, in the reserved slot. Returns immediately. */
  begin(given: Begun): void;
  /** Registers a queue head that waits without a lease holder. */
  waits(tenant: string, entry: string): void;
  /** Polls for waiting turns of all replicas and runs as many as there are slots. Never rejects. */
  look(): Promise<void>;
}

export interface Begun extends First {
  tenant: string;
  session: SessionDocument;
  slot: Slot;
  /** Clock time of the lease request. */
  since: number;
}

interface State extends LauncherDeps {
  work: WorkDeps;
  slots: Slots;
  rota: Rota;
  order: LaneOrder;
  claims: Claims;
  running: Set<Promise<void>>;
  announced: LRUCache<string, true>;
  followed: LRUCache<string, true>;
  /** Aborts running turns at the end of the drain; other replicas continue them. */
  stopping: AbortController;
  draining: boolean;
  rangAt: number;
}

export function createLauncher(deps: LauncherDeps): Launcher {
  const state = createState(deps);
  const unobserve = observeTurns(state.running, state.turns);
  return {
    reserve(tenant, agent, lane) {
      const waitsFor = waitsForOf(tenant, { agentId: agent.agentId, lane });
      return mayPass(state, waitsFor) ? takeSlot(state, waitsFor, agent) : undefined;
    },
    hasRoom(tenant, agent, lane) {
      const waitsFor = waitsForOf(tenant, { agentId: agent.agentId, lane });
      return mayPass(state, waitsFor) && state.slots.hasRoom(agentKeyOf(waitsFor), limitsOf(state, agent, waitsFor));
    },
    unreserve(slot) {
      slot.give();
      pump(state);
    },
    announce: (tenant, turn, model) => announce(state, { tenant, turn, model }),
    follow: (turnId) => void state.followed.set(turnId, true),
    begin({ tenant, session, slot, since, ...first }) {
      const hold = deps.holds.add({ tenant, session, lapsed: false }, since);
      run(state, hold, { waitsFor: waitsForOf(tenant, first.turn), slot, first });
    },
    waits(tenant, entry) {
      const coming = readEntry(entry);
      const waitsFor = waitsForOf(tenant, coming);
      state.rota.add(waitsFor);
      state.order.came(waitsFor, coming.from);
      pump(state);
      if (!hasRoom(state, waitsFor)) ring(state);
    },
    look: onceAtATime(() =>
      look(state).catch((err: unknown) => {
        deps.log.warn({ err, errorKind: 'dependency', hint: 'it is tried again within seconds' }, 'waiting turns were not looked for');
      }),
    ),
    async [Symbol.asyncDispose]() {
      await drain(state);
      unobserve();
    },
  };
}

function createState(deps: LauncherDeps): State {
  const order = createLaneOrder(() => lanesOf(deps.settings.current.queue));
  const rota = createRota((one, other) => order.ahead(one, other));
  const [announced, followed] = [newestTurns(), newestTurns()];
  const stopping = new AbortController();
  const common = {
    ...deps,
    slots: createSlots(),
    rota,
    order,
    claims: createClaims(MOST_CLAIMS),
    running: new Set<Promise<void>>(),
    announced,
    followed,
    stopping,
    draining: false,
    rangAt: -RING_MS,
  };
  const remembering = { maxChars: RECALLED_CHARS, ttlMs: () => deps.settings.current.queue.cleanupIdleMs, clock: deps.clock };
  const state: State = {
    ...common,
    work: {
      ...deps,
      waitTimeoutMs: () => deps.settings.current.queue.waitTimeoutMs,
      wasAnnounced: (turnId) => announced.delete(turnId),
      recall: createRecall(remembering),
      beginnings: createBeginnings(remembering),
      modeOf: (sessionKey) => queueMode(deps.settings.current.queue, sessionKey),
      mostGathered: (sessionKey) => debounceOf(deps.settings.current.queue, sessionKey)?.maxBufferedMessages,
      isFollowed: (turnId) => followed.has(turnId),
      stopping: stopping.signal,
      mayGoOn: () => rota.size === 0 && !state.draining,
    },
  };
  return state;
}

function limitsOf({ settings }: State, agent: Agent, waitsFor: string): SlotLimits {
  const { queue } = settings.current;
  const limits = { total: queue.maxConcurrentSessions, perAgent: agent.config.concurrency.maxConcurrentRuns };
  const name = laneOfWaiting(waitsFor);
  const lanes = name === undefined ? undefined : lanesOf(queue);
  return name === undefined || !lanes ? limits : { ...limits, lane: { name, most: lanes.get(name).concurrency } };
}

function takeSlot(state: State, waitsFor: string, agent: Agent): Slot | undefined {
  return state.slots.take(agentKeyOf(waitsFor), limitsOf(state, agent, waitsFor));
}

/** An arriving turn does not overtake waiting turns of its agent, except those whose lane is full. */
function mayPass(state: State, waitsFor: string): boolean {
  const { draining, rota, settings } = state;
  if (draining || rota.has(waitsFor)) return false;
  const agent = agentKeyOf(waitsFor);
  if (agent === waitsFor) return true;
  const lanes = lanesOf(settings.current.queue)?.names ?? [];
  const others = [agent, ...lanes.map((lane) => inLane(agent, lane))];
  return !others.some((other) => other !== waitsFor && rota.has(other) && hasRoom(state, other));
}

/** Resolves the agent of a wait key. `known` is false until the registry has published agents. */
function agentOf({ agents }: State, waitsFor: string): { agent: Agent | undefined; known: boolean } {
  const { tenant = '', id = '' } = bucketKeyParts(agentKeyOf(waitsFor)) ?? {};
  const agent = agents.find(tenant, id);
  return { agent, known: agent !== undefined || agents.all(tenant).length > 0 };
}

/** A turn whose agent was deleted needs no slot, because it only ends. */
function hasRoom(state: State, waitsFor: string): boolean {
  const { agent, known } = agentOf(state, waitsFor);
  return agent ? state.slots.hasRoom(agentKeyOf(waitsFor), limitsOf(state, agent, waitsFor)) : known;
}

/** Claims sessions while slots are free, in scheduler order. */
function pump(state: State): void {
  while (!state.draining) {
    const waitsFor = state.rota.next((one) => state.claims.may(one) && hasRoom(state, one));
    if (waitsFor === undefined) return;
    void claimFor(state, waitsFor);
  }
}

async function claimFor(state: State, waitsFor: string): Promise<void> {
  const { rota, order, claims, sessions, holds, clock, log } = state;
  const { agent } = agentOf(state, waitsFor);
  const slot = agent && takeSlot(state, waitsFor, agent);
  const [lookedAt, since] = [rota.time, clock.now()];
  claims.begin(waitsFor);
  try {
    const claimed = await claim(sessions, waitsFor, holds.taker());
    claims.end(waitsFor, claimed !== null);
    if (claimed) {
      order.given(waitsFor, readEntry(claimed.session.queue[0] ?? '').from);
      run(state, holds.add(claimed, since), { waitsFor, slot });
    } else {
      forget(state, waitsFor, lookedAt);
      slot?.give();
    }
    pump(state);
  } catch (err) {
    // Not retried here, because the database failed. The next poll finds the session.
    claims.end(waitsFor, false);
    forget(state, waitsFor, lookedAt);
    slot?.give();
    log.warn({ err, errorKind: 'dependency', hint: 'it is tried again within seconds' }, 'waiting turns were not started');
  }
}

function forget({ rota, order }: State, waitsFor: string, lookedAt: number): void {
  rota.remove(waitsFor, lookedAt);
  if (!rota.has(waitsFor)) order.forget(waitsFor);
}

interface Run {
  waitsFor: string;
  slot: Slot | undefined;
  first?: First;
}

function run(state: State, hold: Hold, { waitsFor, slot, first }: Run): void {
  const { running, log, rota, order } = state;
  const done = work(state.work, hold, { waitsFor, ...(first ? { first } : {}) })
    .catch((err: unknown) => {
      log.error(
        { session: hold.key, err, errorKind: 'dependency', hint: 'another runner goes on when the lease has run out' },
        'session lost its runner',
      );
    })
    .then(() => {
      hold.end();
      slot?.give();
      running.delete(done);
      // The rest of the queue waits for a replica.
      const { waitsFor: next, runnableAt = 0 } = hold.session;
      if (next !== undefined) {
        rota.add(next);
        order.came(next, runnableAt);
      }
      pump(state);
    });
  running.add(done);
}

function announce(state: State, { tenant, turn, model }: { tenant: string; turn: TurnDocument; model: ModelRef }): void {
  const frames = createFrameWriter(state, { tenant, turnId: turn.turnId, from: 0 });
  frames.push(acceptedFrame(turn, model));
  frames.close();
  state.announced.set(turn.turnId, true);
}

/** A set that evicts the oldest ids. Ids of turns that other replicas run are never read. */
function newestTurns(): LRUCache<string, true> {
  return new LRUCache({ maxSize: MAX_CACHED_TURNS, sizeCalculation: () => 1 });
}

function ring(state: State): void {
  const now = state.clock.now();
  if (now - state.rangAt < RING_MS) return;
  state.rangAt = now;
  state.bus.wake('sessions');
}

/** Advances from agent to agent, however many turns wait for each. */
async function look(state: State): Promise<void> {
  let last = '';
  for (let n = 0; n < MOST_AGENTS && !state.draining; n += 1) {
    const { items } = await state.sessions.system().find(
      { waitsFor: { gt: last } },
      {
        sort: [
          ['waitsFor', 'asc'],
          ['runnableAt', 'asc'],
        ],
        limit: 1,
      },
    );
    const { waitsFor: found, runnableAt = 0 } = items[0] ?? {};
    if (found === undefined) break;
    state.rota.add(found);
    state.order.first(found, runnableAt);
    if (!hasRoom(state, found)) await endOverdue(state, found);
    last = found;
  }
  pump(state);
}

/** Ends turns that have waited too long, whether slots are free or not. */
async function endOverdue(state: State, waitsFor: string): Promise<void> {
  const { sessions, holds, clock, store, settings } = state;
  for (let n = 0; n < MOST_OVERDUE; n += 1) {
    const since = clock.now();
    const claimed = await claim(sessions, waitsFor, holds.taker(), store.now() - settings.current.queue.waitTimeoutMs);
    if (!claimed) return;
    const hold = holds.add(claimed, since);
    const [first] = hold.session.queue;
    await work(state.work, hold, { waitsFor, overdue: true }).finally(() => hold.end());
    if (hold.session.queue[0] === first) return;
  }
}

/** Starts no more turns, waits for running ones, and hands the rest over when its share of the shutdown time has passed. */
async function drain(state: State): Promise<void> {
  state.draining = true;
  const { clock, settings, running, stopping } = state;
  const stop = clock.after(settings.current.daemon.shutdownTimeoutMs * DRAIN_SHARE, () => stopping.abort(leaseLost()));
  while (running.size > 0) await Promise.allSettled(running);
  stop();
  state.bus.wake('sessions');
}
