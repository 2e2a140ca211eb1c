import type { Principal } from '@switchyard/contracts';
import type { ModelRef } from '@switchyard/models';
import type { Lease, Leases, Settings } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Agent, AgentDirectory } from '../agents.ts';
import type { TurnDocument } from '../data.ts';
import { freeLane, grantLane } from '../sessions/lane.ts';
import { endWithout, framesSoFar } from './end-without.ts';
import { agentGone, interrupted, timedOut } from './endings.ts';
import { acceptedFrame, createFrameWriter } from './frames.ts';
import { onceAtATime } from './once-at-a-time.ts';
import { runDurable, type RunDeps, type TurnEnd } from './run-durable.ts';
import { endTurnSpan, noteEnd, noteWait, observeTurns, startTurnSpan } from './turn-metrics.ts';
import { createSlots, type Slot, type SlotLimits, type Slots } from './slots.ts';

const PAGE = 16;
/** Turns whose readers were told that they are written, and that have not begun. */
const ANNOUNCED = 10_000;
/** Of the time for shutting down, so much is for turns that nobody waits for; those that somebody does were waited for before. */
const DRAIN_SHARE = 1 / 4;

export interface LauncherDeps extends RunDeps {
  turns: Collection<TurnDocument>;
  agents: AgentDirectory;
  leases: Leases<TurnDocument>;
  settings: Settings<'queue' | 'daemon'>;
  turnDeadlineMs: number;
}

export interface Launch {
  turn: TurnDocument;
  agent: Agent;
  principal: Principal;
  slot: Slot;
  /** The model its readers were told of, if this replica has just told them. */
  model?: ModelRef;
  /** The lane was nobody's, and is this turn's since now. */
  granted?: boolean;
}

/** Runs turns that are written already: one at a time in each session, as many at once as there are slots. */
export interface Launcher extends AsyncDisposable {
  /** The room for one turn of an agent, if there is any here. */
  reserve(tenant: string, agent: Agent): Slot | undefined;
  /** Tells the readers of a turn that it is written. */
  announce(turn: TurnDocument, model: ModelRef): void;
  /** Gives back what was reserved for nothing. */
  unreserve(slot: Slot): void;
  /** Runs a turn that holds its session's lane, and gives the slot back. Nobody waits for it; its end is in `running`. */
  launch(given: Launch): void;
  /** Gives a free lane to the oldest turn that waits for it, and launches it. `full` says that only room was missing. */
  dispatch(sessionKey: string, tenant: string): Promise<'full' | undefined>;
  /** Dispatches whatever waits and may run here, the oldest first. */
  pump(): Promise<void>;
  /** The turns that run here now, by id. */
  readonly running: ReadonlyMap<string, Promise<TurnEnd | undefined>>;
}

interface State extends LauncherDeps {
  slots: Slots;
  running: Map<string, Promise<TurnEnd | undefined>>;
  announced: Set<string>;
  /** Aborts what still runs when the grace of a drain is over. */
  stopping: AbortController;
  draining: boolean;
}

export function createLauncher(deps: LauncherDeps): Launcher {
  const state: State = {
    ...deps,
    slots: createSlots(),
    running: new Map(),
    announced: new Set(),
    stopping: new AbortController(),
    draining: false,
  };
  const unobserve = observeTurns(state.running, state.turns);
  const orLater = (err: unknown): undefined => {
    deps.log.warn({ err, errorKind: 'dependency', hint: 'the sweeper tries again' }, 'waiting turns were not started');
  };
  const launcher: Launcher = {
    reserve(tenant, agent) {
      return state.draining ? undefined : state.slots.take(slotOf(tenant, agent), limitsOf(state, agent));
    },
    announce: (turn, model) => announce(state, turn, model),
    unreserve(slot) {
      if (slot.give()) void launcher.pump();
    },
    launch: (given) => launch(state, launcher, given),
    dispatch: (sessionKey, tenant) => dispatch(state, launcher, { sessionKey, tenant }).catch(orLater),
    pump: onceAtATime(() => pump(state, launcher).catch(orLater)),
    running: state.running,
    async [Symbol.asyncDispose]() {
      await drain(state);
      unobserve();
    },
  };
  return launcher;
}

function slotOf(tenant: string, agent: Agent): string {
  return `${tenant}.${agent.agentId}`;
}

function limitsOf({ settings }: State, agent: Agent): SlotLimits {
  return { total: settings.current.queue.maxConcurrentSessions, perAgent: agent.config.concurrency.maxConcurrentRuns };
}

function launch(state: State, launcher: Launcher, given: Launch): void {
  const { running, log } = state;
  const { turn, principal, slot } = given;
  const { turnId, sessionKey } = turn;
  if (state.draining || running.has(turnId)) return launcher.unreserve(slot);
  const work = claimAndRun(state, given);
  running.set(turnId, work);
  work.then(
    () => {
      running.delete(turnId);
      // Who waits longest is next. Only where nobody was refused room is it enough to look at this session.
      if (slot.give()) void launcher.pump();
      else void launcher.dispatch(sessionKey, principal.tenant);
    },
    (err: unknown) => {
      // Not tried again at once: what failed was the database.
      running.delete(turnId);
      slot.give();
      log.error({ turnId, err, errorKind: 'dependency', hint: 'the sweeper ends or restarts this turn' }, 'turn lost its runner');
    },
  );
}

async function claimAndRun(state: State, given: Launch): Promise<TurnEnd | undefined> {
  const { turn, principal } = given;
  const lease = await state.leases.claim(principal.tenant, { turnId: turn.turnId, state: 'queued' });
  if (!lease) {
    await giveBackIfOver(state, given);
    return undefined;
  }
  try {
    // An earlier runner lost its database in the middle: what its tools did and its readers heard cannot be begun again.
    if (lease.document.attempts > 1) return { failure: await endWithout(state, lease, interrupted()) };
    return await run(state, given, lease);
  } finally {
    await lease[Symbol.asyncDispose]();
  }
}

/** The lane was given to a turn that another replica had run and settled meanwhile. */
async function giveBackIfOver(state: State, { turn, principal, granted }: Launch): Promise<void> {
  if (!granted) return;
  const now = await state.turns.for(principal).get(turn.turnId);
  if (now?.state !== 'queued' && now?.state !== 'running') await freeLane(state.sessions.for(principal), turn.sessionKey, turn.turnId);
}

async function run(state: State, { agent, model, principal, turn }: Launch, lease: Lease<TurnDocument>): Promise<TurnEnd | undefined> {
  const { turnId } = turn;
  const frames = createFrameWriter(state.bus, turnId, state.announced.delete(turnId) ? 1 : await framesSoFar(state.bus, turnId));
  const span = startTurnSpan(turn, turn.traceparent);
  let end: TurnEnd | undefined;
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(timedOut(state.turnDeadlineMs)), state.turnDeadlineMs);
  try {
    const signal = AbortSignal.any([lease.signal, ending.signal, state.stopping.signal]);
    noteWait(state.store.now() - turn.createdAt);
    end = await runDurable(state, { lease, agent, model, principal, frames, signal, traceparent: span.traceparent });
    if (end) noteEnd('durable', end.failure ?? end.result, state.store.now() - turn.createdAt);
    return end;
  } finally {
    endTurnSpan(span, end);
    clearTimeout(timer);
    frames.close();
  }
}

function announce({ bus, announced }: State, turn: TurnDocument, model: ModelRef): void {
  const frames = createFrameWriter(bus, turn.turnId, 0);
  frames.push(acceptedFrame(turn, model));
  frames.close();
  announced.add(turn.turnId);
  // Those that other replicas ran are never asked for.
  const [oldest] = announced;
  if (announced.size > ANNOUNCED && oldest !== undefined) announced.delete(oldest);
}

interface Lane {
  sessionKey: string;
  tenant: string;
}

async function dispatch(state: State, launcher: Launcher, lane: Lane): Promise<'full' | undefined> {
  while (!state.draining) {
    const turn = await nextOf(state, lane);
    if (!turn || state.running.has(turn.turnId)) return undefined;
    const agent = state.agents.find(lane.tenant, turn.agentId);
    if (agent) return start(state, launcher, { turn, agent, principal: principalOf(turn, lane.tenant) });
    if (state.agents.all(lane.tenant).length === 0) return undefined;
    // Its agent was deleted while it waited: nobody will ever answer it.
    const lease = await state.leases.claim(lane.tenant, { turnId: turn.turnId, state: 'queued' });
    if (!lease) return undefined;
    await endWithout(state, lease, agentGone(turn.agentId));
  }
  return undefined;
}

/** The oldest turn that waits in a session, unless another one holds the lane. */
async function nextOf({ turns, sessions }: State, { sessionKey, tenant }: Lane): Promise<TurnDocument | undefined> {
  const oldest = (await turns.for({ tenant }).find({ sessionKey, state: 'queued' }, { sort: [['seq', 'asc']], limit: 1 })).items[0];
  if (!oldest) return undefined;
  const holder = (await sessions.for({ tenant }).get(sessionKey))?.activeTurn ?? oldest.turnId;
  return holder === oldest.turnId ? oldest : undefined;
}

async function start(state: State, launcher: Launcher, given: Omit<Launch, 'slot'>): Promise<'full' | undefined> {
  const { turn, agent, principal } = given;
  const slot = launcher.reserve(principal.tenant, agent);
  if (!slot) return 'full';
  try {
    const grant = await grantLane(state.sessions.for(principal), turn, state.store.now());
    if (grant === 'refused') launcher.unreserve(slot);
    else launcher.launch({ ...given, slot, granted: grant === 'taken' });
  } catch (error) {
    slot.give();
    throw error;
  }
  return undefined;
}

async function pump(state: State, launcher: Launcher): Promise<void> {
  const tried = new Set<string>();
  let cursor: string | undefined;
  while (!state.draining && !state.slots.full(state.settings.current.queue.maxConcurrentSessions)) {
    const page = await state.turns
      .system()
      .find({ state: 'queued' }, { sort: [['createdAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const { tenant, sessionKey, agentId } of page.items) {
      const lane = `${tenant} ${sessionKey}`;
      const agent = state.agents.find(tenant, agentId);
      if (tried.has(lane) || (agent && !state.slots.hasRoom(slotOf(tenant, agent), limitsOf(state, agent)))) continue;
      tried.add(lane);
      await launcher.dispatch(sessionKey, tenant);
    }
    if (page.cursor === undefined) return;
    cursor = page.cursor;
  }
}

/** Who a stored turn runs for. */
function principalOf(turn: TurnDocument, tenant: string): Principal {
  const { client, scopes, sessions } = turn;
  return { tenant, client, scopes: scopes as Principal['scopes'], ...(sessions === undefined ? {} : { sessions }) };
}

/** Launches nothing more, lets what runs end, and interrupts it when its share of the time for shutting down is over. */
async function drain(state: State): Promise<void> {
  state.draining = true;
  const grace = setTimeout(() => state.stopping.abort(interrupted()), state.settings.current.daemon.shutdownTimeoutMs * DRAIN_SHARE);
  while (state.running.size > 0) await Promise.allSettled(state.running.values());
  clearTimeout(grace);
}
