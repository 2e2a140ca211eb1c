import { ServiceError, type Input, type Principal, type Result, type TurnResult } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import type { ChatVerdict } from '../approvals/chat-verdict.ts';
import { parseMessage } from '../commands/command-parser.ts';
import { getBindings } from '../agents/agent-bindings.ts';
import { parseEntry, formatEntry } from '../model/queue-entry.ts';
import { isQueueFull } from '../queue/session-queue.ts';
import { getLanes } from '../queue/lanes.ts';
import { canFollow, turnNotFound } from '../model/session-ownership.ts';
import { getDebounce, getOverflow, type Overflow, type QueuedTurnRef } from '../queue/queue-policy.ts';
import { acceptTurn, enqueueStored, type AcceptedTurn, type AcceptTurnDeps, type TurnRequest } from './acceptance/turn-acceptance.ts';
import { cancelTurns } from './cancellation.ts';
import { toError } from './store/turn-failure.ts';
import { createAutoContinue, forbidContinuationOfLast } from './execution/auto-continue.ts';
import { createFrameWriter } from '../frames/frame-publisher.ts';
import { createLauncher, type TurnLauncher, type LauncherDeps } from './turn-launcher.ts';
import { resolveSessionTarget } from './acceptance/session-target.ts';
import { createKeyedMutex } from '../queue/keyed-mutex.ts';
import { answerControlMessage, type ControlTarget } from './acceptance/control-message.ts';
import { wakeOrigin } from './store/turn-ended-event.ts';
import { makeRoom } from './ending/queue-overflow.ts';
import { getTurnState } from './store/turn-state.ts';
import { tenantQueueFull, turnParked } from './store/turn-errors.ts';
import { createTenantTurnLimit } from './acceptance/tenant-turn-limit.ts';
import { loadTurnEnd } from './ending/turn-waiters.ts';

/** Accepts durable turns and runs them. */
export interface TurnRunner extends AsyncDisposable, Pick<TurnLauncher, 'pollWaiting' | 'follow' | 'runningCount'> {
  /** Continues conversations whose process died before doing so. */
  sweepContinuations(): Promise<void>;
  /** Returns an existing turn in its current state. */
  start(request: TurnRequest, principal: Principal): Promise<TurnDocument>;
  /**
   * Starts a turn and waits for its end. Aborting the signal ends the wait, never the turn. Throws DEADLINE_EXCEEDED (reason
   * APPROVAL_PENDING, ANSWER_PENDING or SLEEPING) shortly before the deadline if the turn is then parked.
   */
  execute(request: TurnRequest, principal: Principal, wait: WaitLimit): Promise<{ turn: TurnDocument; result: TurnResult }>;
  /** Cancels turns of the caller, running or waiting, on any replica. */
  cancel(requested: Input<'agent.cancel'>, principal: Principal): Promise<Result<'agent.cancel'>>;
  /** Waits for the end of an existing turn of the caller. */
  attach(turnId: string, principal: Principal, signal: AbortSignal): Promise<{ turn: TurnDocument; result: TurnResult }>;
  /** Runs a queue head that waited without a lease holder. */
  wake(tenant: string, entry: string): void;
  /** Enqueues a stored turn, unless it is in the queue already. */
  enqueue(tenant: string, turn: TurnDocument): Promise<void>;
  /** Publishes the failure of a turn that ended without running. Does nothing for other turns. */
  notifyFailed(tenant: string, turn: TurnDocument | null): void;
}

/** How long a caller waits for a turn. */
export interface WaitLimit {
  signal: AbortSignal;
  /** Time in epoch ms until which the caller waits. */
  deadline?: number;
}

/** Time before the deadline at which a caller is told that its turn waits for an approval, so that the reply arrives in time. */
const PENDING_REPLY_MS = 500;

interface ResultOptions {
  deadline?: number | undefined;
  principal: Principal;
  /** The turn existed before and may have ended. */
  replayed: boolean;
  /** The turn was started here by this request. */
  startedHere: boolean;
  signal: AbortSignal;
}

/** Sessions in which waiting turns were seen. */
const MAX_CACHED_SESSIONS = 10_000;

export function createRunner(options: Omit<LauncherDeps, 'autoContinue'>): TurnRunner {
  const autoContinue = createAutoContinue({ ...options, enqueue: enter });
  const deps: LauncherDeps = { ...options, autoContinue };
  const { turns, settings, waiting, bodies } = deps;
  const launcher = createLauncher(deps);
  const runExclusive = createKeyedMutex();
  const busySessions = new LRUCache<string, true>({ maxSize: MAX_CACHED_SESSIONS, sizeCalculation: () => 1 });
  const tenantLimit = createTenantTurnLimit({ turns, clock: deps.clock, maxWaiting: () => settings.current.queue.maxWaiting });
  const overflowFor =
    (tenant: string) =>
    ({ sessionKey, agentId }: QueuedTurnRef): Overflow =>
      getOverflow(settings.current.queue, sessionKey, deps.agents.find(tenant, agentId)?.config.concurrency.maxQueuedPerSession);
  const targetDeps = { ...deps, bindings: () => getBindings(settings.current.routing) };
  const waits = (tenant: string, entry: string): void => launcher.addRunnable(tenant, entry);

  function buildAcceptDeps(principal: Principal): AcceptTurnDeps {
    const { tenant, client } = principal;
    const ofQueue = overflowFor(tenant);
    return {
      ...targetDeps,
      getOverflow: ofQueue,
      getDebounce: (sessionKey) => getDebounce(settings.current.queue, sessionKey),
      makeRoom: (turn) => makeRoom({ ...deps, getOverflow: ofQueue, onRunnable: waits }, tenant, turn),
      newLeaseRequest: () => deps.holds.newRequest(),
      rejectIfStorageFull: () => deps.storage?.rejectIfFull(principal),
      getLane(identity, caller, order) {
        const lanes = getLanes(settings.current.queue);
        return order?.origin.service === 'scheduler' ? lanes?.scheduled : lanes?.laneFor(identity, caller);
      },
      reserve: (agent, lane) => launcher.reserve({ tenant, client, agent, lane }),
      unreserve: (slot) => launcher.unreserve(slot),
      admitWaiting: () => tenantLimit.admit(tenant),
      rejectIfTenantFull(agent, lane) {
        const full = launcher.hasRoom({ tenant, client, agent, lane }) ? undefined : tenantLimit.fullFor(tenant);
        if (!full) return;
        const { agentId } = agent;
        const standard = deps.agents.default(tenant).agentId === agentId;
        // Another lane of the agent may have room, and the caller does not know its lane. The limit is not cached then.
        throw tenantQueueFull(settings.current.queue.maxWaiting, lane === undefined ? { ...full, agentId, standard } : undefined);
      },
      isBusy: (sessionKey) => busySessions.has(`${tenant} ${sessionKey}`) || deps.holds.has(tenant, sessionKey),
      runExclusive: (sessionKey, work) => runExclusive(`${tenant} ${sessionKey}`, work),
    };
  }

  /** Returns what a message does to a waiting request: `/approve`, `/deny`, `/answer`, or a plain answer. */
  async function findControl(
    command: { name: string; args: string } | undefined,
    request: TurnRequest,
    principal: Principal,
  ): Promise<((target: ControlTarget) => Promise<string>) | undefined> {
    const { answerApproval, questions } = deps;
    const verdict = answerApproval && (await findVerdict(command, request, principal));
    if (answerApproval && verdict) return (target) => answerApproval(principal, { ...verdict, ...target });
    if (!questions) return undefined;
    if (command?.name === 'answer') return (target) => questions.answer(principal, { text: command.args, ...target });
    if (command || isOrderedByService(request)) return undefined;
    const { key } = resolveSessionTarget(targetDeps, request, principal);
    if (!(await questions.isAwaited(principal.tenant, key))) return undefined;
    return (target) => questions.answer(principal, { text: request.message, ...target });
  }

  /** Returns the verdict of `/approve`, `/deny` or a plain answer to the request of another service. */
  async function findVerdict(
    command: { name: string; args: string } | undefined,
    request: TurnRequest,
    principal: Principal,
  ): Promise<Pick<ChatVerdict, 'approved' | 'selector'> | undefined> {
    if (command?.name === 'approve' || command?.name === 'deny') return { approved: command.name === 'approve', selector: command.args };
    const orderedBy = request.order?.origin.service;
    if (command || !deps.findGateReply || isOrderedByService(request)) return undefined;
    const { identity, key } = resolveSessionTarget(targetDeps, request, principal);
    const senderId = orderedBy === undefined ? principal.client : identity.userId;
    return deps.findGateReply({ principal, message: request.message, sessionKey: key, senderId });
  }

  async function start(input: TurnRequest, principal: Principal): Promise<{ turn: TurnDocument; replayed: boolean; startedHere: boolean }> {
    const { tenant } = principal;
    const request = { ...input, message: deps.screening?.admit(input.message) ?? input.message };
    const parsed = parseMessage(request.message);
    const command = parsed?.command;
    // The invocation of a skill answers no question.
    const named = command ?? (parsed?.directed?.skill === undefined ? undefined : { name: 'skill', args: '' });
    const carryOut = await findControl(named, request, principal);
    if (carryOut) {
      const control = await answerControlMessage(buildAcceptDeps(principal), request, principal, carryOut);
      await publishControlEnd(principal, control);
      return { turn: control, replayed: true, startedHere: false };
    }
    const isStop = command?.name === 'stop';
    const accepted = await (isStop ? acceptStop(request, principal) : acceptTurn(buildAcceptDeps(principal), request, principal));
    const { turn } = accepted;
    if (isStop && !accepted.replayed) await cancelBefore(turn, principal);
    if (!accepted.replayed) {
      const { agent, model, started } = accepted;
      if (model) launcher.announce(tenant, turn, model);
      const name = `${tenant} ${turn.sessionKey}`;
      if (started === undefined && !accepted.waits) busySessions.set(name, true);
      else busySessions.delete(name);
      if (started) launcher.startAccepted({ ...started, tenant, turn, agent, model });
    }
    const gathersMs = accepted.replayed ? undefined : accepted.debounceMs;
    if (gathersMs) deps.clock.after(gathersMs, () => launcher.addRunnable(tenant, formatEntry(turn)));
    else if (accepted.waits || gathersMs === 0) launcher.addRunnable(tenant, formatEntry(turn));
    return { turn, replayed: accepted.replayed, startedHere: !accepted.replayed && accepted.started !== undefined };
  }

  /** Its first frame is its last. */
  async function publishControlEnd(principal: Principal, turn: TurnDocument): Promise<void> {
    const { tenant } = principal;
    const { turnId } = turn;
    const end = await loadTurnEnd(bodies.for(principal), turn);
    if (!end.result) return;
    const frames = createFrameWriter(deps, { tenant, turnId, from: 0 });
    frames.end({ type: 'done', result: end.result });
    frames.close();
    wakeOrigin(deps.bus, turn);
  }

  /** A stop command is accepted even when the queue is full, because it cancels what fills the queue. */
  async function acceptStop(request: TurnRequest, principal: Principal): Promise<AcceptedTurn> {
    try {
      return await acceptTurn(buildAcceptDeps(principal), request, principal);
    } catch (error) {
      if (!isQueueFull(error)) throw error;
      const { key } = resolveSessionTarget(targetDeps, request, principal);
      await cancelTurns({ ...targetDeps, onRunnable: waits }, { sessionKey: key }, principal);
      return acceptTurn(buildAcceptDeps(principal), request, principal);
    }
  }

  /** Cancels the caller's earlier turns, the last one first, so that the end of one does not start the next one. */
  async function cancelBefore({ turnId, sessionKey }: TurnDocument, principal: Principal): Promise<void> {
    const session = await deps.sessions.for(principal).get(sessionKey);
    if (session) await forbidContinuationOfLast(deps.turns.for(principal), session, principal.client);
    const queue = (session?.queue ?? []).map((entry) => parseEntry(entry).turnId);
    for (const earlier of queue.slice(0, Math.max(0, queue.indexOf(turnId))).toReversed()) {
      await cancelTurns({ ...targetDeps, onRunnable: waits }, { turnId: earlier }, principal).catch((error: unknown) => {
        if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) throw error;
      });
    }
  }

  /** Notifies waiters of a turn that may have ended before they waited. */
  async function notifyIfEnded(principal: Principal, turnId: string): Promise<void> {
    const turn = await turns.for(principal).get(turnId);
    if (turn && hasEnded(turn)) waiting.notify(principal.tenant, turnId, await loadTurnEnd(bodies.for(principal), turn));
  }

  async function waitForResult(
    { turnId }: TurnDocument,
    { principal, replayed, startedHere, signal, deadline }: ResultOptions,
  ): Promise<TurnResult> {
    const ending = waiting.end(principal.tenant, turnId, { signal, runsHere: startedHere });
    const pending = deadline === undefined ? undefined : watchDeadline(principal, turnId, deadline - Date.now());
    // A failed read is repeated by the poll of the waiters.
    if (replayed) void notifyIfEnded(principal, turnId).catch(() => undefined);
    const end = await (pending ? Promise.race([ending, pending.parked]) : ending).finally(pending?.stop);
    if (end.failure) throw toError(end.failure);
    return end.result;
  }

  /** Rejects shortly before the deadline if the turn is then parked. */
  function watchDeadline(principal: Principal, turnId: string, leftMs: number): { parked: Promise<never>; stop: () => void } {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    const check = async (): Promise<void> => {
      const turn = await turns.for(principal).get(turnId);
      if (turn?.parked && !hasEnded(turn)) reject(turnParked(turnId, turn.parked.requestId));
    };
    const stop = deps.clock.after(Math.max(0, leftMs - PENDING_REPLY_MS), () => void check().catch(() => undefined));
    return { parked: promise, stop };
  }

  async function enter(tenant: string, turn: TurnDocument): Promise<void> {
    const { place } = await enqueueStored({ ...deps, getOverflow: overflowFor(tenant) }, tenant, turn);
    if (place === 'waits') launcher.addRunnable(tenant, formatEntry(turn));
  }

  return {
    async start(request, principal) {
      const { turn, replayed } = await start(request, principal);
      return replayed ? { ...turn, state: (await getTurnState(deps, principal, turn)).state } : turn;
    },

    async execute(request, principal, { signal, deadline }) {
      const { turn, ...known } = await start(request, principal);
      return { turn, result: await waitForResult(turn, { principal, ...known, signal, deadline }) };
    },

    async attach(turnId, principal, signal) {
      const turn = await turns.for(principal).get(turnId);
      if (!turn || !(await canFollow(deps.sessions, principal, turn))) throw turnNotFound();
      return { turn, result: await waitForResult(turn, { principal, replayed: true, startedHere: false, signal }) };
    },

    cancel: (requested, principal) => cancelTurns({ ...targetDeps, onRunnable: waits }, requested, principal),

    wake: waits,
    enqueue: enter,
    sweepContinuations: () => autoContinue.sweep(),

    notifyFailed(tenant, turn) {
      if (!turn?.failure) return;
      const frames = createFrameWriter(deps, { tenant, turnId: turn.turnId, from: turn.lastFrame ?? 1 });
      frames.end({ type: 'error', error: turn.failure });
      frames.close();
      waiting.notify(tenant, turn.turnId, { failure: turn.failure });
    },

    pollWaiting: () => launcher.pollWaiting(),
    follow: (turnId) => launcher.follow(turnId),
    runningCount: () => launcher.runningCount(),
    async [Symbol.asyncDispose]() {
      await launcher[Symbol.asyncDispose]();
      await autoContinue[Symbol.asyncDispose]();
    },
  };
}

/** Turns that services order are no messages of a person, except those of the channels service. */
function isOrderedByService({ order }: TurnRequest): boolean {
  return order !== undefined && order.origin.service !== 'channels';
}
