import { TURN_DEADLINE_MS, type Principal } from '@switchyard/contracts';
import type { Lease, Leases, Settings } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Agent, AgentDirectory } from '../agents.ts';
import type { TurnDocument } from '../data.ts';
import { endWithout } from './commit.ts';
import { agentGone, interrupted, timedOut } from './endings.ts';
import { createFrameWriter } from './frames.ts';
import { onceAtATime } from './once-at-a-time.ts';
import { runDurable, type RunDeps, type TurnEnd } from './run-durable.ts';
import { createSlots, type Slots } from './slots.ts';
import { tellUsage } from './usage.ts';

const PAGE = 100;

export interface LauncherDeps extends RunDeps {
  turns: Collection<TurnDocument>;
  agents: AgentDirectory;
  leases: Leases<TurnDocument>;
  settings: Settings<'queue' | 'daemon'>;
}

/** Runs turns that are written already: one at a time in each session, as many at once as there are slots. */
export interface Launcher extends AsyncDisposable {
  hasRoom(tenant: string, agent: Agent): boolean;
  /** Runs a turn that holds its session's lane, if there is room here. Nobody waits for it; its end is in `running`. */
  launch(turn: TurnDocument, agent: Agent, principal: Principal): boolean;
  /** Gives a free lane to the oldest turn that waits for it, and launches it. */
  dispatch(sessionKey: string, tenant: string): Promise<boolean>;
  /** Dispatches whatever waits and may run here. */
  pump(): Promise<void>;
  /** The turns that run here now, by id. */
  readonly running: ReadonlyMap<string, Promise<TurnEnd | undefined>>;
}

interface State extends LauncherDeps {
  slots: Slots;
  running: Map<string, Promise<TurnEnd | undefined>>;
  /** Aborts what still runs when the grace of a drain is over. */
  stopping: AbortController;
  draining: boolean;
}

export function createLauncher(deps: LauncherDeps): Launcher {
  const state: State = { ...deps, slots: createSlots(), running: new Map(), stopping: new AbortController(), draining: false };
  const launcher: Launcher = {
    hasRoom: (tenant, agent) => !state.draining && state.slots.hasRoom(slotOf(tenant, agent), limits(state, agent)),
    launch: (turn, agent, principal) => launch(state, launcher, { turn, agent, principal }),
    dispatch: (sessionKey, tenant) => dispatch(state, launcher, { sessionKey, tenant }),
    pump: onceAtATime(() => pump(state, launcher)),
    running: state.running,
    [Symbol.asyncDispose]: () => drain(state),
  };
  return launcher;
}

function slotOf(tenant: string, agent: Agent): string {
  return `${tenant}.${agent.agentId}`;
}

function limits({ settings }: State, agent: Agent): { total: number; perAgent: number } {
  return { total: settings.current.queue.maxConcurrentSessions, perAgent: agent.config.concurrency.maxConcurrentRuns };
}

interface Launch {
  turn: TurnDocument;
  agent: Agent;
  principal: Principal;
}

function launch(state: State, launcher: Launcher, { turn, agent, principal }: Launch): boolean {
  const { running, slots, log } = state;
  const { tenant } = principal;
  const { turnId, sessionKey } = turn;
  if (state.draining || running.has(turnId) || !slots.take(slotOf(tenant, agent), limits(state, agent))) return false;
  const work = claimAndRun(state, { turn, agent, principal }).finally(() => {
    slots.give(slotOf(tenant, agent));
    running.delete(turnId);
  });
  running.set(turnId, work);
  work
    .catch((err: unknown) => log.error({ turnId, err, errorKind: 'internal', hint: 'the sweeper ends this turn' }, 'turn lost its runner'))
    .then(() => launcher.dispatch(sessionKey, tenant))
    .then(() => launcher.pump())
    .catch((err: unknown) => log.warn({ err, errorKind: 'dependency', hint: 'the sweeper tries again' }, 'the next turn did not start'));
  return true;
}

async function claimAndRun(state: State, { turn, agent, principal }: Launch): Promise<TurnEnd | undefined> {
  const lease = await state.leases.claim(principal.tenant, { turnId: turn.turnId });
  if (!lease) return undefined;
  const frames = createFrameWriter(state.bus, turn.turnId, 1);
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(timedOut()), TURN_DEADLINE_MS);
  try {
    if (mayHaveActed(lease)) ending.abort(interrupted());
    const signal = AbortSignal.any([lease.signal, ending.signal, state.stopping.signal]);
    const end = await runDurable(state, { lease, agent, principal, frames, signal });
    if (end?.result) tellUsage(state.bus, lease.document, end.outcome);
    return end;
  } finally {
    clearTimeout(timer);
    frames.close();
    await lease[Symbol.asyncDispose]();
  }
}

/** What an earlier runner's tools did is not known to be repeatable. */
function mayHaveActed({ document }: Lease<TurnDocument>): boolean {
  return document.attempts > 1 && document.steps.length > 0;
}

interface Lane {
  sessionKey: string;
  tenant: string;
}

async function dispatch(state: State, launcher: Launcher, { sessionKey, tenant }: Lane): Promise<boolean> {
  const { turns, sessions, agents, running } = state;
  const oldest = (await turns.for({ tenant }).find({ sessionKey, state: 'queued' }, { sort: [['seq', 'asc']], limit: 1 })).items[0];
  if (!oldest || running.has(oldest.turnId)) return false;
  const agent = agents.find(tenant, oldest.agentId);
  if (agent && !launcher.hasRoom(tenant, agent)) return false;
  const mine = sessions.for({ tenant });
  const taken = await mine.update({ key: sessionKey, activeTurn: null }, { set: { activeTurn: oldest.turnId } });
  const holder = taken?.activeTurn ?? (await mine.get(sessionKey))?.activeTurn;
  if (holder !== oldest.turnId) return false;
  if (agent) return launch(state, launcher, { turn: oldest, agent, principal: principalOf(oldest, tenant) });
  if (agents.all(tenant).length > 0) await endOrphan(state, oldest, tenant);
  return false;
}

/** Its agent was deleted while it waited: nobody will ever answer it. */
async function endOrphan(state: State, turn: TurnDocument, tenant: string): Promise<void> {
  const lease = await state.leases.claim(tenant, { turnId: turn.turnId, state: 'queued' });
  if (lease) await endWithout(state, lease, agentGone(turn.agentId));
}

async function pump(state: State, launcher: Launcher): Promise<void> {
  const tried = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await state.turns
      .system()
      .find({ state: 'queued' }, { sort: [['createdAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const { tenant, sessionKey, agentId } of page.items) {
      const lane = `${tenant} ${sessionKey}`;
      const agent = state.agents.find(tenant, agentId);
      if (tried.has(lane) || (agent && !launcher.hasRoom(tenant, agent))) continue;
      tried.add(lane);
      await launcher.dispatch(sessionKey, tenant);
    }
    cursor = page.cursor;
  } while (cursor !== undefined && !state.draining);
}

/** Who a stored turn runs for. */
function principalOf(turn: TurnDocument, tenant: string): Principal {
  return { tenant, client: turn.client, scopes: turn.scopes as Principal['scopes'] };
}

/** Launches nothing more, lets what runs end, and interrupts it when half of the time for shutting down is over. */
async function drain(state: State): Promise<void> {
  state.draining = true;
  const grace = setTimeout(() => state.stopping.abort(interrupted()), state.settings.current.daemon.shutdownTimeoutMs / 2);
  while (state.running.size > 0) await Promise.allSettled(state.running.values());
  clearTimeout(grace);
}
