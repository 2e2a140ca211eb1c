import { ServiceError, type Input, type Principal, type Result, type TurnResult } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { parseMessage } from '../commands/command-parser.ts';
import { bindingsOf } from '../agents/agent-bindings.ts';
import { readEntry, toEntry } from '../model/queue-entry.ts';
import { isQueueFull } from '../queue/session-queue.ts';
import { lanesOf } from '../queue/lanes.ts';
import { follows, noSuchTurn } from '../model/session-ownership.ts';
import { debounceOf, overflowOf, type Overflow, type Queued } from '../queue/queue-policy.ts';
import { accept, enterLater, type Accepted, type AcceptDeps, type TurnRequest } from './acceptance/turn-acceptance.ts';
import { cancel } from './cancellation.ts';
import { toError } from './store/turn-failure.ts';
import { createFollowUps, forbidAfter } from './execution/auto-continue.ts';
import { createFrameWriter } from '../frames/frame-publisher.ts';
import { createLauncher, type Launcher, type LauncherDeps } from './turn-launcher.ts';
import { meantSession } from './acceptance/session-target.ts';
import { oneAfterAnother } from '../queue/keyed-mutex.ts';
import { makeRoom } from './ending/queue-overflow.ts';
import { stateOf } from './store/turn-state.ts';
import { tooManyWait } from './store/turn-errors.ts';
import { createTenantBound } from './acceptance/tenant-turn-limit.ts';
import { endOf } from './ending/turn-waiters.ts';

/** Accepts durable turns and runs them. */
export interface Runner extends AsyncDisposable, Pick<Launcher, 'look' | 'follow'> {
  /** Continues conversations whose process died before doing so. */
  sweepFollowUps(): Promise<void>;
  /** Returns an existing turn in its current state. */
  start(request: TurnRequest, principal: Principal): Promise<TurnDocument>;
  /** Starts a turn and waits for its end. Aborting the signal ends the wait, never the turn. */
  execute(request: TurnRequest, principal: Principal, signal: AbortSignal): Promise<{ turn: TurnDocument; result: TurnResult }>;
  /** Cancels turns of the caller, running or waiting, on any replica. */
  cancel(meant: Input<'agent.cancel'>, principal: Principal): Promise<Result<'agent.cancel'>>;
  /** Waits for the end of an existing turn of the caller. */
  attach(turnId: string, principal: Principal, signal: AbortSignal): Promise<{ turn: TurnDocument; result: TurnResult }>;
  /** Enqueues a stored turn, unless it is in the queue already. */
  enter(tenant: string, turn: TurnDocument): Promise<void>;
  /** Publishes the failure of a turn that ended without running. Does nothing for other turns. */
  tellFailed(tenant: string, turn: TurnDocument | null): void;
}

interface Awaiting {
  principal: Principal;
  /** The turn existed before and may have ended. */
  replayed: boolean;
  /** The turn was started here by this request. */
  here: boolean;
  signal: AbortSignal;
}

/** Sessions in which waiting turns were seen. */
const MAX_CACHED_SESSIONS = 10_000;

export function createRunner(given: Omit<LauncherDeps, 'followUps'>): Runner {
  const followUps = createFollowUps({ ...given, enter });
  const deps: LauncherDeps = { ...given, followUps };
  const { turns, settings, waiting, bodies } = deps;
  const launcher = createLauncher(deps);
  const oneByOne = oneAfterAnother();
  const crowded = new LRUCache<string, true>({ maxSize: MAX_CACHED_SESSIONS, sizeCalculation: () => 1 });
  const bound = createTenantBound({ turns, clock: deps.clock, most: () => settings.current.queue.maxWaiting });
  const overflowFor =
    (tenant: string) =>
    ({ sessionKey, agentId }: Queued): Overflow =>
      overflowOf(settings.current.queue, sessionKey, deps.agents.find(tenant, agentId)?.config.concurrency.maxQueuedPerSession);
  const meaning = { ...deps, bindings: () => bindingsOf(settings.current.routing) };
  const waits = (tenant: string, entry: string): void => launcher.waits(tenant, entry);

  function acceptingFor({ tenant }: Principal): AcceptDeps {
    const ofQueue = overflowFor(tenant);
    return {
      ...meaning,
      overflowOf: ofQueue,
      debounceOf: (sessionKey) => debounceOf(settings.current.queue, sessionKey),
      makeRoom: (turn) => makeRoom({ ...deps, overflowOf: ofQueue, waits }, tenant, turn),
      taker: () => deps.holds.taker(),
      laneOf: (identity, principal) => lanesOf(settings.current.queue)?.of(identity, principal),
      reserve: (agent, lane) => launcher.reserve(tenant, agent, lane),
      unreserve: (slot) => launcher.unreserve(slot),
      admitWaiting: () => bound.admit(tenant),
      refuseWaiting(agent, lane) {
        const full = launcher.hasRoom(tenant, agent, lane) ? undefined : bound.fullFor(tenant);
        if (!full) return;
        const { agentId } = agent;
        const standard = deps.agents.default(tenant).agentId === agentId;
        // Another lane of the agent may have room, and the caller does not know its lane. The limit is not cached then.
        throw tooManyWait(settings.current.queue.maxWaiting, lane === undefined ? { ...full, agentId, standard } : undefined);
      },
      isBusy: (sessionKey) => crowded.has(`${tenant} ${sessionKey}`) || deps.holds.has(tenant, sessionKey),
      inTurn: (sessionKey, work) => oneByOne(`${tenant} ${sessionKey}`, work),
    };
  }

  async function start(given: TurnRequest, principal: Principal): Promise<{ turn: TurnDocument; replayed: boolean; here: boolean }> {
    const { tenant } = principal;
    const request = { ...given, message: deps.screening?.admit(given.message) ?? given.message };
    const stops = parseMessage(request.message)?.command?.name === 'stop';
    const accepted = await (stops ? acceptStop(request, principal) : accept(acceptingFor(principal), request, principal));
    const { turn } = accepted;
    if (stops && !accepted.replayed) await cancelBefore(turn, principal);
    if (!accepted.replayed) {
      const { agent, model, begun } = accepted;
      launcher.announce(tenant, turn, model);
      const name = `${tenant} ${turn.sessionKey}`;
      if (begun === undefined && !accepted.waits) crowded.set(name, true);
      else crowded.delete(name);
      if (begun) launcher.begin({ ...begun, tenant, turn, agent, model });
    }
    const gathersMs = accepted.replayed ? undefined : accepted.gathersMs;
    if (gathersMs) deps.clock.after(gathersMs, () => launcher.waits(tenant, toEntry(turn)));
    else if (accepted.waits || gathersMs === 0) launcher.waits(tenant, toEntry(turn));
    return { turn, replayed: accepted.replayed, here: !accepted.replayed && accepted.begun !== undefined };
  }

  /** A stop command is accepted even when the queue is full, because it cancels what fills the queue. */
  async function acceptStop(request: TurnRequest, principal: Principal): Promise<Accepted> {
    try {
      return await accept(acceptingFor(principal), request, principal);
    } catch (error) {
      if (!isQueueFull(error)) throw error;
      const { key } = meantSession(meaning, request, principal);
      await cancel({ ...meaning, waits }, { sessionKey: key }, principal);
      return accept(acceptingFor(principal), request, principal);
    }
  }

  /** Cancels the caller's earlier turns, the last one first, so that the end of one does not start the next one. */
  async function cancelBefore({ turnId, sessionKey }: TurnDocument, principal: Principal): Promise<void> {
    const session = await deps.sessions.for(principal).get(sessionKey);
    if (session) await forbidAfter(deps.turns.for(principal), session, principal.client);
    const queue = (session?.queue ?? []).map((entry) => readEntry(entry).turnId);
    for (const earlier of queue.slice(0, Math.max(0, queue.indexOf(turnId))).toReversed()) {
      await cancel({ ...meaning, waits }, { turnId: earlier }, principal).catch((error: unknown) => {
        if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) throw error;
      });
    }
  }

  /** Notifies waiters of a turn that may have ended before they waited. */
  async function endOfEarlier(principal: Principal, turnId: string): Promise<void> {
    const turn = await turns.for(principal).get(turnId);
    if (turn && hasEnded(turn)) waiting.tell(principal.tenant, turnId, await endOf(bodies.for(principal), turn));
  }

  async function resultOf({ turnId }: TurnDocument, { principal, replayed, here, signal }: Awaiting): Promise<TurnResult> {
    const ending = waiting.end(principal.tenant, turnId, { signal, here });
    // A failed read is repeated by the poll of the waiters.
    if (replayed) void endOfEarlier(principal, turnId).catch(() => undefined);
    const end = await ending;
    if (end.failure) throw toError(end.failure);
    return end.result;
  }

  async function enter(tenant: string, turn: TurnDocument): Promise<void> {
    const { place } = await enterLater({ ...deps, overflowOf: overflowFor(tenant) }, tenant, turn);
    if (place === 'waits') launcher.waits(tenant, toEntry(turn));
  }

  return {
    async start(request, principal) {
      const { turn, replayed } = await start(request, principal);
      return replayed ? { ...turn, state: (await stateOf(deps, principal, turn)).state } : turn;
    },

    async execute(request, principal, signal) {
      const { turn, ...known } = await start(request, principal);
      return { turn, result: await resultOf(turn, { principal, ...known, signal }) };
    },

    async attach(turnId, principal, signal) {
      const turn = await turns.for(principal).get(turnId);
      if (!turn || !(await follows(deps.sessions, principal, turn))) throw noSuchTurn();
      return { turn, result: await resultOf(turn, { principal, replayed: true, here: false, signal }) };
    },

    cancel: (meant, principal) => cancel({ ...meaning, waits }, meant, principal),

    enter,
    sweepFollowUps: () => followUps.sweep(),

    tellFailed(tenant, turn) {
      if (!turn?.failure) return;
      const frames = createFrameWriter(deps, { tenant, turnId: turn.turnId, from: turn.lastFrame ?? 1 });
      frames.end({ type: 'error', error: turn.failure });
      frames.close();
      waiting.tell(tenant, turn.turnId, { failure: turn.failure });
    },

    look: () => launcher.look(),
    follow: (turnId) => launcher.follow(turnId),
    async [Symbol.asyncDispose]() {
      await launcher[Symbol.asyncDispose]();
      await followUps[Symbol.asyncDispose]();
    },
  };
}
