import { bucketKey, bucketKeyParts } from '@switchyard/contracts';
import type { ModelRef } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Agent } from '../agents.ts';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { claim } from '../sessions/mailbox.ts';
import { debounceOf, queueMode } from '../sessions/queue-policy.ts';
import { createClaims, type Claims } from './claims.ts';
import { acceptedFrame, createFrameWriter } from './frames.ts';
import { leaseLost, type Hold } from './hold.ts';
import { onceAtATime } from './once-at-a-time.ts';
import { createRecall } from './recall.ts';
import { createRota, type Rota } from './rota.ts';
import { observeTurns } from './turn-metrics.ts';
import { createSlots, type Slot, type SlotLimits, type Slots } from './slots.ts';
import { work, type First, type WorkDeps } from './worker.ts';

/** Turns whose readers were told that they are written, and that have not begun; and turns that are followed. The newest of each. */
const REMEMBERED = 10_000;
/** Of the time for shutting down, so much is for turns that nobody waits for; those that somebody does were waited for before. */
const DRAIN_SHARE = 1 / 4;
/** Of the texts of conversations that go on here, so many characters are remembered. */
const RECALLED_CHARS = 8_388_608;
/** Other replicas are told that turns wait no more often than this. */
const RING_MS = 100;
/** Agents that are found waiting at one look. */
const MOST_AGENTS = 1_000;
/** Turns of one agent that are claimed at once. */
const MOST_CLAIMS = 32;
/** Turns of one agent that are ended at one look because they waited for too long. */
const MOST_OVERDUE = 1_000;

export interface LauncherDeps extends Omit<
  WorkDeps,
  'wasAnnounced' | 'isFollowed' | 'recall' | 'modeOf' | 'mostGathered' | 'stopping' | 'mayGoOn' | 'waitTimeoutMs'
> {
  settings: Settings<'queue' | 'daemon'>;
}

/** Runs turns that are written already: one at a time in each session, as many at once as there are slots. */
export interface Launcher extends AsyncDisposable {
  /** The room for a turn of an agent that has just come, if there is any here and nobody waits for it. */
  reserve(tenant: string, agent: Agent): Slot | undefined;
  /** Whether there is such room now. */
  hasRoom(tenant: string, agent: Agent): boolean;
  /** Gives back what was reserved for nothing. */
  unreserve(slot: Slot): void;
  /** Tells the readers of a turn that it is written. */
  announce(tenant: string, turn: TurnDocument, model: ModelRef): void;
  /** Somebody reads along from now on. */
  follow(turnId: string): void;
  /** Works on a session whose lease was taken for this turn, in the room that was reserved for it. Nobody waits for it. */
  begin(given: Begun): void;
  /** A turn waits for an agent, with nobody at work in its session. */
  waits(tenant: string, agentId: string): void;
  /** Finds out for which agents turns wait, whoever accepted them, and runs what there is room for. Never fails. */
  look(): Promise<void>;
}

export interface Begun extends First {
  tenant: string;
  session: SessionDocument;
  slot: Slot;
  /** When the lease was asked for, by the clock. */
  since: number;
}

interface State extends LauncherDeps {
  work: WorkDeps;
  slots: Slots;
  rota: Rota;
  claims: Claims;
  running: Set<Promise<void>>;
  announced: Set<string>;
  followed: Set<string>;
  /** Aborts what still runs when the grace of a drain is over; others go on with it. */
  stopping: AbortController;
  draining: boolean;
  rangAt: number;
}

export function createLauncher(deps: LauncherDeps): Launcher {
  const state = createState(deps);
  const unobserve = observeTurns(state.running, state.turns);
  return {
    reserve(tenant, agent) {
      const waitsFor = bucketKey(tenant, agent.agentId);
      if (state.draining || state.rota.has(waitsFor)) return undefined;
      return state.slots.take(waitsFor, limitsOf(state, agent));
    },
    hasRoom(tenant, agent) {
      const waitsFor = bucketKey(tenant, agent.agentId);
      return !state.draining && !state.rota.has(waitsFor) && state.slots.hasRoom(waitsFor, limitsOf(state, agent));
    },
    unreserve(slot) {
      slot.give();
      pump(state);
    },
    announce: (tenant, turn, model) => announce(state, { tenant, turn, model }),
    follow: (turnId) => remember(state.followed, turnId),
    begin({ tenant, session, slot, since, ...first }) {
      const hold = deps.holds.add({ tenant, session, lapsed: false }, since);
      run(state, hold, { waitsFor: bucketKey(tenant, first.agent.agentId), slot, first });
    },
    waits(tenant, agentId) {
      const waitsFor = bucketKey(tenant, agentId);
      state.rota.add(waitsFor);
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
  const [rota, announced, followed, stopping] = [createRota(), new Set<string>(), new Set<string>(), new AbortController()];
  const common = {
    ...deps,
    slots: createSlots(),
    rota,
    claims: createClaims(MOST_CLAIMS),
    running: new Set<Promise<void>>(),
    announced,
    followed,
    stopping,
    draining: false,
    rangAt: -RING_MS,
  };
  const state: State = {
    ...common,
    work: {
      ...deps,
      waitTimeoutMs: () => deps.settings.current.queue.waitTimeoutMs,
      wasAnnounced: (turnId) => announced.delete(turnId),
      recall: createRecall({ mostChars: RECALLED_CHARS, idleMs: () => deps.settings.current.queue.cleanupIdleMs, clock: deps.clock }),
      modeOf: (sessionKey) => queueMode(deps.settings.current.queue, sessionKey),
      mostGathered: (sessionKey) => debounceOf(deps.settings.current.queue, sessionKey)?.maxBufferedMessages,
      isFollowed: (turnId) => followed.has(turnId),
      stopping: stopping.signal,
      mayGoOn: () => rota.size === 0 && !state.draining,
    },
  };
  return state;
}

function limitsOf({ settings }: State, agent: Agent): SlotLimits {
  return { total: settings.current.queue.maxConcurrentSessions, perAgent: agent.config.concurrency.maxConcurrentRuns };
}

/** The agent of a `bucketKey`. */
function agentOf({ agents }: State, waitsFor: string): { agent: Agent | undefined; known: boolean } {
  const { tenant = '', id = '' } = bucketKeyParts(waitsFor) ?? {};
  const agent = agents.find(tenant, id);
  return { agent, known: agent !== undefined || agents.all(tenant).length > 0 };
}

/** A turn whose agent is gone needs no room: nobody will ever answer it. Until the registry has spoken, nobody knows. */
function hasRoom(state: State, waitsFor: string): boolean {
  const { agent, known } = agentOf(state, waitsFor);
  return agent ? state.slots.hasRoom(waitsFor, limitsOf(state, agent)) : known;
}

/** Claims for each agent that has room and that turns wait for: who waited longest is next. */
function pump(state: State): void {
  while (!state.draining) {
    const waitsFor = state.rota.next((one) => state.claims.may(one) && hasRoom(state, one));
    if (waitsFor === undefined) return;
    void claimFor(state, waitsFor);
  }
}

async function claimFor(state: State, waitsFor: string): Promise<void> {
  const { rota, claims, sessions, holds, clock, log } = state;
  const { agent } = agentOf(state, waitsFor);
  const slot = agent && state.slots.take(waitsFor, limitsOf(state, agent));
  const [lookedAt, since] = [rota.time, clock.now()];
  claims.begin(waitsFor);
  try {
    const claimed = await claim(sessions, waitsFor, holds.taker());
    claims.end(waitsFor, claimed !== null);
    if (claimed) run(state, holds.add(claimed, since), { waitsFor, slot });
    else {
      rota.remove(waitsFor, lookedAt);
      slot?.give();
    }
    pump(state);
  } catch (err) {
    // Not tried again at once: what failed was the database. The next look finds it.
    claims.end(waitsFor, false);
    rota.remove(waitsFor, lookedAt);
    slot?.give();
    log.warn({ err, errorKind: 'dependency', hint: 'it is tried again within seconds' }, 'waiting turns were not started');
  }
}

interface Run {
  waitsFor: string;
  slot: Slot | undefined;
  first?: First;
}

function run(state: State, hold: Hold, { waitsFor, slot, first }: Run): void {
  const { running, log, rota } = state;
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
      // What is left of the session waits for somebody.
      const next = hold.session.waitsFor;
      if (next !== undefined) rota.add(next);
      pump(state);
    });
  running.add(done);
}

function announce(state: State, { tenant, turn, model }: { tenant: string; turn: TurnDocument; model: ModelRef }): void {
  const frames = createFrameWriter(state, { tenant, turnId: turn.turnId, from: 0 });
  frames.push(acceptedFrame(turn, model));
  frames.close();
  remember(state.announced, turn.turnId);
}

/** Those that other replicas run are never asked for. */
function remember(turnIds: Set<string>, turnId: string): void {
  turnIds.add(turnId);
  const [oldest] = turnIds;
  if (turnIds.size > REMEMBERED && oldest !== undefined) turnIds.delete(oldest);
}

function ring(state: State): void {
  const now = state.clock.now();
  if (now - state.rangAt < RING_MS) return;
  state.rangAt = now;
  state.bus.wake('sessions');
}

/** From agent to agent, however many turns wait for each. */
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
    const found = items[0]?.waitsFor;
    if (found === undefined) break;
    state.rota.add(found);
    if (!hasRoom(state, found)) await endOverdue(state, found);
    last = found;
  }
  pump(state);
}

/** Turns that have waited for too long end, whether there is room or not. */
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

/** Launches nothing more, lets what runs end, and hands the rest over at once when its share of the time for shutting down is over. */
async function drain(state: State): Promise<void> {
  state.draining = true;
  const { clock, settings, running, stopping } = state;
  const stop = clock.after(settings.current.daemon.shutdownTimeoutMs * DRAIN_SHARE, () => stopping.abort(leaseLost()));
  while (running.size > 0) await Promise.allSettled(running);
  stop();
  state.bus.wake('sessions');
}
