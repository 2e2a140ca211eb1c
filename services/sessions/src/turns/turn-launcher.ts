import { LRUCache } from 'lru-cache';
import type { ModelRef } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Agent } from '../agents/agent-directory.ts';
import { createBeginnings } from '../context/history-prefix-cache.ts';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { parseEntry, formatWaitsFor, parseWaitsFor } from '../model/queue-entry.ts';
import { getLanes } from '../queue/lanes.ts';
import { claimSession } from '../queue/session-queue.ts';
import { getDebounce, getQueueMode } from '../queue/queue-policy.ts';
import { createClaimBatchSizes, type ClaimBatchSizes } from '../queue/claim-batch-size.ts';
import { acceptedFrame, createFrameWriter } from '../frames/frame-publisher.ts';
import { leaseLostError, type SessionLease } from '../queue/session-lease.ts';
import { createLaneScheduler, type LaneScheduler } from '../queue/lane-scheduler.ts';
import { coalesce } from '../queue/coalesce.ts';
import { createRecall } from '../context/exchange-cache.ts';
import { createFairScheduler, type FairScheduler } from '../queue/fair-scheduler.ts';
import { createSlots, getShare, type Slot, type SlotLimit, type Slots } from '../queue/concurrency-slots.ts';
import { workOnSession, type StartedTurn, type SessionWorkerDeps } from './execution/session-worker.ts';

/** Maximum number of cached ids of announced turns, and of followed turns. */
const MAX_CACHED_TURNS = 10_000;
/** Share of the shutdown time for turns without waiting callers. Awaited turns were drained before. */
const DRAIN_SHARE = 1 / 4;
/** Maximum characters of cached conversation text. */
const MAX_CACHED_CHARS = 8_388_608;
/** Minimum interval between wake messages to other replicas. */
const WAKE_INTERVAL_MS = 100;
/** Maximum number of wait keys per poll. The next poll continues after them. */
const MAX_KEYS_PER_POLL = 1_000;
/** Maximum concurrent claims per wait key. */
const MAX_CLAIM_BATCH_SIZE = 32;
/** Maximum number of overdue turns ended per wait key and poll. */
const MAX_OVERDUE_TURNS = 1_000;

export interface LauncherDeps extends Omit<
  SessionWorkerDeps,
  | 'wasAnnounced'
  | 'isFollowed'
  | 'recall'
  | 'beginnings'
  | 'getQueueMode'
  | 'getMaxDebounced'
  | 'stopping'
  | 'mayContinue'
  | 'waitTimeoutMs'
> {
  settings: Settings<'queue' | 'daemon' | 'routing'>;
}

/** Runs accepted turns: one at a time per session, and as many in parallel as there are slots. */
export interface TurnLauncher extends AsyncDisposable {
  /** Reserves a slot for an arriving turn if one is free and no waiting turn is entitled to it. */
  reserve(arriving: ArrivingTurn): Slot | undefined;
  /** Returns whether such a slot is free. */
  hasRoom(arriving: ArrivingTurn): boolean;
  /** Releases a reserved slot that was not used. */
  unreserve(slot: Slot): void;
  /** Publishes the accepted frame of a turn. */
  announce(tenant: string, turn: TurnDocument, model: ModelRef): void;
  /** A reader follows the turn from now on. */
  follow(turnId: string): void;
  /** Works on a session whose lease was taken with this turn, in the reserved slot. Returns immediately. */
  startAccepted(options: StartedSession): void;
  /** Registers a queue head that waits without a lease holder. */
  addRunnable(tenant: string, entry: string): void;
  /** Polls for waiting turns of all replicas and runs as many as there are slots. Never rejects. */
  pollWaiting(): Promise<void>;
  /** Returns the number of turns that run on this replica. */
  runningCount(): number;
}

/** What decides about the slot of an arriving turn. */
export interface ArrivingTurn {
  tenant: string;
  client: string;
  agent: Agent;
  lane: string | undefined;
}

export interface StartedSession extends StartedTurn {
  tenant: string;
  session: SessionDocument;
  slot: Slot;
  /** Clock time of the lease request. */
  since: number;
}

interface LauncherState extends LauncherDeps {
  work: SessionWorkerDeps;
  slots: Slots;
  scheduler: FairScheduler;
  laneScheduler: LaneScheduler;
  claims: ClaimBatchSizes;
  running: Set<Promise<void>>;
  announced: LRUCache<string, true>;
  followed: LRUCache<string, true>;
  /** Aborts running turns at the end of the drain; other replicas continue them. */
  stopping: AbortController;
  draining: boolean;
  wokenAt: number;
  /** Last wait key of a poll that did not reach all keys. */
  lastPolled: string;
}

export function createLauncher(deps: LauncherDeps): TurnLauncher {
  const state = createState(deps);
  return {
    reserve(arriving) {
      const waitsFor = getWaitKey(arriving);
      return isNext(state, waitsFor) ? state.slots.take(getSlotLimits(state, arriving.agent, waitsFor)) : undefined;
    },
    hasRoom(arriving) {
      const waitsFor = getWaitKey(arriving);
      return isNext(state, waitsFor) && state.slots.hasRoom(getSlotLimits(state, arriving.agent, waitsFor));
    },
    unreserve(slot) {
      slot.release();
      dispatch(state);
    },
    announce: (tenant, turn, model) => announce(state, { tenant, turn, model }),
    follow: (turnId) => void state.followed.set(turnId, true),
    startAccepted({ tenant, session, slot, since, ...first }) {
      const hold = deps.holds.add({ tenant, session, lapsed: false }, since);
      runSession(state, hold, { waitsFor: formatWaitsFor(tenant, first.turn), slot, first });
    },
    addRunnable(tenant, entry) {
      const coming = parseEntry(entry);
      const waitsFor = formatWaitsFor(tenant, coming);
      state.scheduler.add(waitsFor);
      state.laneScheduler.added(waitsFor, coming.notBefore);
      if (hasRoom(state, waitsFor)) dispatch(state);
      if (!hasRoom(state, waitsFor)) wakePeers(state);
    },
    pollWaiting: coalesce(() =>
      look(state).catch((err: unknown) => {
        deps.log.warn({ err, errorKind: 'dependency', hint: 'retrying within seconds' }, 'failed to poll for queued turns; retrying');
      }),
    ),
    runningCount: () => state.running.size,
    [Symbol.asyncDispose]: () => drain(state),
  };
}

function createState(deps: LauncherDeps): LauncherState {
  const order = createLaneScheduler(() => getLanes(deps.settings.current.queue));
  const rota = createFairScheduler((one, other) => order.isAhead(one, other));
  const [announced, followed] = [createTurnIdCache(), createTurnIdCache()];
  const stopping = new AbortController();
  const common = {
    ...deps,
    slots: createSlots(),
    scheduler: rota,
    laneScheduler: order,
    claims: createClaimBatchSizes(MAX_CLAIM_BATCH_SIZE),
    running: new Set<Promise<void>>(),
    announced,
    followed,
    stopping,
    draining: false,
    wokenAt: -WAKE_INTERVAL_MS,
    lastPolled: '',
  };
  const cacheOptions = { maxChars: MAX_CACHED_CHARS, ttlMs: () => deps.settings.current.queue.cleanupIdleMs, clock: deps.clock };
  const state: LauncherState = {
    ...common,
    work: {
      ...deps,
      waitTimeoutMs: () => deps.settings.current.queue.waitTimeoutMs,
      wasAnnounced: (turnId) => announced.delete(turnId),
      recall: createRecall(cacheOptions),
      beginnings: createBeginnings(cacheOptions),
      getQueueMode: (sessionKey) => getQueueMode(deps.settings.current.queue, sessionKey),
      getMaxDebounced: (sessionKey) => getDebounce(deps.settings.current.queue, sessionKey)?.maxBufferedMessages,
      isFollowed: (turnId) => followed.has(turnId),
      stopping: stopping.signal,
      mayContinue: () => rota.size === 0 && !state.draining,
    },
  };
  return state;
}

function getWaitKey({ tenant, agent, ...arriving }: ArrivingTurn): string {
  return formatWaitsFor(tenant, { agentId: agent.agentId, ...arriving });
}

/**
 * Returns the limits that a turn counts against. Running turns are not interrupted, so shares also apply while no other turn waits; the
 * share of a tenant applies once another tenant has agents.
 */
function getSlotLimits({ settings, agents }: LauncherState, { config }: Agent, waitsFor: string): SlotLimit[] {
  const { queue } = settings.current;
  const { tenant, agentId, client, lane } = parseWaitsFor(waitsFor);
  const { maxConcurrentRuns, clientShare } = config.concurrency;
  const ofTenant = agents.hasSeveralTenants() ? getShare(queue.maxConcurrentSessions, queue.tenantShare) : queue.maxConcurrentSessions;
  const lanes = lane === undefined ? undefined : getLanes(queue);
  const [tenantName, agentName] = [JSON.stringify([tenant]), JSON.stringify([tenant, { agentId }])];
  return [
    { name: '', max: queue.maxConcurrentSessions },
    { name: tenantName, max: ofTenant },
    { name: `${tenantName} ${client}`, max: getShare(ofTenant, queue.clientShare) },
    { name: agentName, max: maxConcurrentRuns },
    { name: `${agentName} ${client}`, max: getShare(maxConcurrentRuns, clientShare) },
    ...(lane === undefined || !lanes ? [] : [{ name: `lane ${lane}`, max: lanes.get(lane).concurrency }]),
  ];
}

/** An arriving turn does not overtake waiting turns of its agent, except those whose lane or share is full. */
function isNext(state: LauncherState, waitsFor: string): boolean {
  const { draining, scheduler } = state;
  if (draining || scheduler.has(waitsFor)) return false;
  return !scheduler.isAnyWaiting(waitsFor, (other) => hasRoom(state, other));
}

/** Resolves the agent of a wait key. `known` is false until the registry has published agents. */
function findAgent({ agents }: LauncherState, waitsFor: string): { agent: Agent | undefined; known: boolean } {
  const { tenant, agentId } = parseWaitsFor(waitsFor);
  const agent = agents.find(tenant, agentId);
  return { agent, known: agent !== undefined || agents.all(tenant).length > 0 };
}

/** A turn whose agent was deleted needs no slot, because it only ends. */
function hasRoom(state: LauncherState, waitsFor: string): boolean {
  const { agent, known } = findAgent(state, waitsFor);
  return agent ? state.slots.hasRoom(getSlotLimits(state, agent, waitsFor)) : known;
}

/** Claims sessions while slots are free, in scheduler order. */
function dispatch(state: LauncherState): void {
  while (!state.draining) {
    const waitsFor = state.scheduler.next((one) => state.claims.canClaim(one) && hasRoom(state, one));
    if (waitsFor === undefined) return;
    void claimFor(state, waitsFor);
  }
}

async function claimFor(state: LauncherState, waitsFor: string): Promise<void> {
  const { scheduler, laneScheduler, claims, sessions, holds, clock, log } = state;
  const { agent } = findAgent(state, waitsFor);
  const slot = agent && state.slots.take(getSlotLimits(state, agent, waitsFor));
  const [lookedAt, since] = [scheduler.time, clock.now()];
  claims.begin(waitsFor);
  try {
    const claimed = await claimSession(sessions, waitsFor, holds.newRequest());
    claims.end(waitsFor, claimed !== null);
    if (claimed) {
      const head = parseEntry(claimed.session.queue[0] ?? '');
      laneScheduler.served(waitsFor, head.notBefore);
      // Another version of the service may have written the wait key in another form.
      runSession(state, holds.add(claimed, since), { waitsFor: formatWaitsFor(claimed.tenant, head), slot });
    } else {
      removeWaiting(state, waitsFor, lookedAt);
      slot?.release();
    }
    dispatch(state);
  } catch (err) {
    // Not retried here, because the database failed. The next poll finds the session.
    claims.end(waitsFor, false);
    removeWaiting(state, waitsFor, lookedAt);
    slot?.release();
    log.warn({ err, errorKind: 'dependency', hint: 'retrying within seconds' }, 'failed to start queued turns; retrying');
  }
}

function removeWaiting({ scheduler, laneScheduler }: LauncherState, waitsFor: string, lookedAt: number): void {
  scheduler.remove(waitsFor, lookedAt);
  if (!scheduler.has(waitsFor)) laneScheduler.remove(waitsFor);
}

interface RunOptions {
  waitsFor: string;
  slot: Slot | undefined;
  first?: StartedTurn;
}

function runSession(state: LauncherState, hold: SessionLease, { waitsFor, slot, first }: RunOptions): void {
  const { running, log, scheduler, laneScheduler } = state;
  const done = workOnSession(state.work, hold, { waitsFor, ...(first ? { first } : {}) })
    .catch((err: unknown) => {
      log.error(
        { session: hold.key, err, errorKind: 'dependency', hint: 'another replica continues when the lease has expired' },
        'session lost its runner',
      );
    })
    .then(() => {
      hold.stopRenewing();
      slot?.release();
      running.delete(done);
      // The rest of the queue waits for a replica.
      const { waitsFor: next, runnableAt = 0 } = hold.session;
      if (next !== undefined) {
        scheduler.add(next);
        laneScheduler.added(next, runnableAt);
      }
      dispatch(state);
    });
  running.add(done);
}

function announce(state: LauncherState, { tenant, turn, model }: { tenant: string; turn: TurnDocument; model: ModelRef }): void {
  const frames = createFrameWriter(state, { tenant, turnId: turn.turnId, from: 0 });
  frames.push(acceptedFrame(turn, model));
  frames.close();
  state.announced.set(turn.turnId, true);
}

/** A set that evicts the oldest ids. Ids of turns that other replicas run are never read. */
function createTurnIdCache(): LRUCache<string, true> {
  return new LRUCache({ maxSize: MAX_CACHED_TURNS, sizeCalculation: () => 1 });
}

function wakePeers(state: LauncherState): void {
  const now = state.clock.now();
  if (now - state.wokenAt < WAKE_INTERVAL_MS) return;
  state.wokenAt = now;
  state.bus.wake('sessions');
}

/** Advances from wait key to wait key, however many turns wait for each. */
async function look(state: LauncherState): Promise<void> {
  const { sessions, scheduler, laneScheduler, settings, store } = state;
  for (let n = 0; n < MAX_KEYS_PER_POLL && !state.draining; n += 1) {
    const { items } = await sessions.system().find(
      { waitsFor: { gt: state.lastPolled } },
      {
        sort: [
          ['waitsFor', 'asc'],
          ['runnableAt', 'asc'],
        ],
        limit: 1,
      },
    );
    const { waitsFor: found, runnableAt = 0 } = items[0] ?? {};
    state.lastPolled = found ?? '';
    if (found === undefined) break;
    scheduler.add(found);
    laneScheduler.setFirst(found, runnableAt);
    if (!hasRoom(state, found) && runnableAt <= store.now() - settings.current.queue.waitTimeoutMs) await endOverdue(state, found);
  }
  dispatch(state);
}

/** Ends turns that have waited too long, whether slots are free or not. */
async function endOverdue(state: LauncherState, waitsFor: string): Promise<void> {
  const { sessions, holds, clock, store, settings } = state;
  for (let n = 0; n < MAX_OVERDUE_TURNS; n += 1) {
    const since = clock.now();
    const claimed = await claimSession(sessions, waitsFor, holds.newRequest(), store.now() - settings.current.queue.waitTimeoutMs);
    if (!claimed) return;
    const hold = holds.add(claimed, since);
    const [first] = hold.session.queue;
    await workOnSession(state.work, hold, { waitsFor, overdue: true }).finally(() => hold.stopRenewing());
    if (hold.session.queue[0] === first) return;
  }
}

/** Starts no more turns, waits for running ones, and hands the rest over when its share of the shutdown time has passed. */
async function drain(state: LauncherState): Promise<void> {
  state.draining = true;
  const { clock, settings, running, stopping } = state;
  const stop = clock.after(settings.current.daemon.shutdownTimeoutMs * DRAIN_SHARE, () => stopping.abort(leaseLostError()));
  while (running.size > 0) await Promise.allSettled(running);
  stop();
  state.bus.wake('sessions');
}
