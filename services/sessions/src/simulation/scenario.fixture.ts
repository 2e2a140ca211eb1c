import { AgentConfig, ServiceError, type Input } from '@switchyard/contracts';
import type { ModelAnswer, ModelEnd, ModelMessage, ModelRequest, Models, OnDelta } from '@switchyard/models';
import { pause, type Settings } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import {
  createSimulatedBus,
  createSimulation,
  NO_FAULTS,
  simulatedData,
  type Faults,
  type Process,
  type SimulatedBus,
  type SimulatedData,
  type Simulation,
  type Watching,
} from '@switchyard/testkit';
import type { Agent, AgentDirectory } from '../agents/agent-directory.ts';
import type { HistoryDeps } from '../sessions/session-directory.ts';
import { createCompaction, type Compaction } from '../context/compaction/compaction.ts';
import type { EndedEpochDocument, SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { openRunner } from '../service.ts';
import type { QueueMode } from '../queue/queue-policy.ts';
import { createFrameLogQuota } from '../frames/frame-log-quota.ts';
import { createSessionReset, newEpochChange, type ResetSession } from '../sessions/session-reset.ts';
import { CONTINUE_PROMPT } from '../turns/execution/auto-continue.ts';
import { createMemoryCapture } from '../memory/memory-capture.ts';
import type { TurnRunner } from '../turns/turn-runner.ts';
import type { CreateToolBox } from '../agent-loop/turn-planner.ts';
import type { ToolBox } from '../tools/toolbox.ts';
import { createDelegation, DELEGATION_SETTINGS, openDelegation, type Delegation, type DelegationReplica } from './delegation.fixture.ts';
import { createJudge, type Judge } from './invariants.fixture.ts';
import { principal } from './principal.fixture.ts';

export { principal };

/** Script of a turn: number of text pieces, and tools called before the end. */
export interface Script {
  turn: string;
  pieces: number;
  tools: readonly ('look' | 'act' | 'destroy' | 'spawn')[];
  /** Milliseconds between two actions. */
  pace: number;
}

/** The simulated world: replicas of the service driven by a seed. */
export interface World {
  simulation: Simulation;
  judge: Judge;
  bus: SimulatedBus;
  sessions: SimulatedData<SessionDocument>;
  turns: SimulatedData<TurnDocument>;
  bodies: SimulatedData<BodyDocument>;
  summaries: SimulatedData<SummaryDocument>;
  gone: SimulatedData<EndedEpochDocument>;
  replicas: Replica[];
  started: number;
  /** Model calls by the turn name in the script, one per step. */
  requests: string[];
  /** Number of non-empty exports, and their errors. */
  exported: number;
  wrong: Error[];
  waits: Waits;
  /** Requests for approval and runs of sub-agents. */
  delegation: Delegation;
}

export interface Replica {
  process: Process;
  runner: TurnRunner;
  own: AsyncDisposableStack;
  emptying: ResetSession;
  compaction: Compaction;
  reading: HistoryDeps;
  sessions: ReturnType<SimulatedData<SessionDocument>['from']>;
  /** Only if the scenario delegates. */
  delegation?: DelegationReplica;
}

export interface WorldOptions {
  seed: number;
  faults?: Faults;
  waits?: Waits | undefined;
  sabotage?: Watching['sabotage'];
}

export function createWorld({ seed, faults = NO_FAULTS, waits = USUAL, sabotage }: WorldOptions): World {
  const simulation = createSimulation(seed, faults);
  const judge = createJudge(() => simulation.now(), waits.expires ? IDLE_MS : Infinity);
  const delegation = createDelegation(sabotage);
  const watching = {
    changed: (...change: Parameters<NonNullable<Watching['changed']>>) => {
      judge.watching.changed?.(...change);
      delegation.judge.watching.changed?.(...change);
    },
    ...(sabotage ? { sabotage } : {}),
  };
  const bus = createSimulatedBus();
  judge.hear(bus);
  bus.answer = (name, params) => {
    if (name === 'memory.capture') judge.remembers(params as Input<'memory.capture'>);
    return {};
  };
  return {
    simulation,
    judge,
    bus,
    sessions: simulatedData('sessions', { key: 'key' }, watching),
    turns: simulatedData('turns', { key: 'turnId', unique: ['idempotencyKey'] }, watching),
    bodies: simulatedData('bodies', { key: 'id' }, watching),
    summaries: simulatedData('summaries', { key: 'id' }, watching),
    gone: simulatedData('gone', { key: 'epoch' }, watching),
    replicas: [],
    started: 0,
    requests: [],
    exported: 0,
    wrong: [],
    waits,
    delegation,
  };
}

export interface Waits {
  mode: QueueMode;
  policy: 'drop-new' | 'drop-old' | 'summarize';
  /** Some tools wait for an approval, and some start sub-agents. */
  delegates?: true;
  /** Some messages reset their session. */
  resets?: true;
  /** Conversations are compacted early. */
  compacts?: true;
  /** Compaction runs within the turn that needs it. */
  prepares?: true;
  /** Some messages exceed the context window, and their conversation is continued automatically. */
  goesOn?: true;
  /** Duration of a summary, if it differs from a few turns. */
  summaryPaceMs?: number;
  /** Conversations are exported during the scenario. */
  exports?: true;
  /** All turns are captured as memories. */
  remembers?: true;
  /** Conversations expire after `IDLE_MS` of silence. */
  expires?: true;
  /** Debounce window. */
  gathersMs?: number;
  /** Group turns rank behind direct ones; promotion time of their lane, 0 for none. */
  climbsMs?: number;
}
export const USUAL: Waits = { mode: 'followup', policy: 'drop-new' };

type SimulatedSettings = Settings<'queue' | 'daemon' | 'routing' | 'approvals' | 'security'>;

function getSettings({ mode: defaultMode, policy, gathersMs = 0, climbsMs }: Waits): SimulatedSettings {
  const defaultOverflow = { maxDepth: 4, policy };
  const queue = {
    enabled: true,
    cleanupIdleMs: 60_000,
    maxConcurrentSessions: 3,
    tenantShare: 1,
    clientShare: 1,
    defaultMode,
    defaultOverflow,
    perChannel: {},
    perChannelDebounce: {},
    defaultDebounceMs: gathersMs,
    debounce: { windowMs: 0, maxBufferedMessages: 3, firstMessageImmediate: true },
    maxWaiting: 1_000,
    waitTimeoutMs: 600_000,
    followup: { maxFollowupRuns: 3, followupOnCompaction: true },
    priorityEnabled: climbsMs !== undefined,
    priorityLanes: [
      { name: 'among them', concurrency: 1, priority: 1, agingPromotionMs: climbsMs },
      { name: 'in person', concurrency: 1, priority: 2, agingPromotionMs: 1_000 },
    ],
    laneAssignment: { defaultLane: 'in person', dmLane: 'in person', mentionLane: 'among them', followupLane: 'among them' },
  };
  const current = { queue, daemon: { shutdownTimeoutMs: 8_000 }, routing: { bindings: [] }, ...DELEGATION_SETTINGS };
  return { current } as unknown as SimulatedSettings;
}

/** Limits that allow a compaction after two exchanges. */
const SHORT = {
  maxContextChars: 600,
  contextEngine: { contextThreshold: 0.1, freshTailTurns: 1, leafMinFanout: 2, condensedMinFanout: 2 },
};

const PREPARED = { ...SHORT, contextEngine: { ...SHORT.contextEngine, deferCompaction: false, compactionPrefixAnchorTurns: 1 } };

function getAgent(agentId: string, maxConcurrentRuns: number, more: object = {}): Agent {
  const config = AgentConfig.parse({ model: 'dev/echo', concurrency: { maxConcurrentRuns }, ...more });
  return { agentId, tenant: 'default', suspended: false, isDefault: agentId === 'wide', config };
}

const AGENTS = getDirectory([getAgent('wide', 2), getAgent('narrow', 1)]);
const SHORT_AGENTS = getDirectory([getAgent('wide', 2, SHORT), getAgent('narrow', 1, SHORT)]);
const PREPARED_AGENTS = getDirectory([getAgent('wide', 2, PREPARED), getAgent('narrow', 1, PREPARED)]);
const REMEMBERS = { rag: { capture: 'all' } };
const REMEMBERING_AGENTS = getDirectory([getAgent('wide', 2, REMEMBERS), getAgent('narrow', 1, REMEMBERS)]);

/** Most conversations of a scenario are shorter; some are longer. */
export const IDLE_MS = 2_000;
const EXPIRES = { session: { resetPolicy: { mode: 'idle', idleTimeoutMs: IDLE_MS } } };
const EXPIRING_AGENTS = getDirectory([getAgent('wide', 2, EXPIRES), getAgent('narrow', 1, EXPIRES)]);

function agentsFor({ compacts, prepares, remembers, expires }: Waits): AgentDirectory {
  if (expires) return EXPIRING_AGENTS;
  if (prepares) return PREPARED_AGENTS;
  if (remembers) return REMEMBERING_AGENTS;
  return compacts ? SHORT_AGENTS : AGENTS;
}

function getDirectory(all: readonly Agent[]): AgentDirectory {
  return {
    find: (tenant, agentId) => (tenant === 'default' ? all.find((agent) => agent.agentId === agentId) : undefined),
    default: () => all[0]!,
    listAllTenants: () => [],
    hasSeveralTenants: () => false,
    onChange: () => () => undefined,
    all: (tenant) => (tenant === 'default' ? all : []),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Starts a replica of the service with all its code on the simulated clock, store and bus. */
export function startReplica(world: World): Replica {
  const { simulation, bus, judge } = world;
  const process = simulation.start(`r${++world.started}`);
  const data = {
    sessions: world.sessions.from(process),
    turns: world.turns.from(process),
    bodies: world.bodies.from(process),
    summaries: world.summaries.from(process),
    gone: world.gone.from(process),
  };
  const store = { now: () => simulation.now() };
  const own = new AsyncDisposableStack();
  const options = {
    ...data,
    store,
    agents: agentsFor(world.waits),
    models: getModels(process, world),
    clock: process.clock,
    settings: getSettings(world.waits),
    log: silentLogger(),
    own,
    owner: process.name,
    timing: {},
    shares: createFrameLogQuota({ clock: process.clock, room: () => Infinity, messageBytes: 0 }),
  };
  const compaction = own.use(createCompaction(options));
  const connection = bus.from(process);
  const remembering = createMemoryCapture({ ...options, bus: connection });
  const emptying = createSessionReset({
    ...data,
    store,
    clock: process.clock,
    onEnded: (tenant, key) => delegation?.subAgents.sweep(tenant, key) ?? Promise.resolve(),
  });
  const delegation = world.waits.delegates
    ? openDelegation(world.delegation, { ...options, process, bus: connection, emptying, runner: () => runner })
    : undefined;
  const simple = getTools(process, judge);
  const runner: TurnRunner = openRunner({
    ...options,
    ...delegation?.gated,
    ...(world.waits.remembers ? { memoryCapture: remembering } : {}),
    compaction,
    bus: connection,
    tools: ((...turn) => delegation?.addTools(simple, ...turn) ?? simple) satisfies CreateToolBox,
  });
  delegation?.start();
  const replica: Replica = {
    process,
    runner,
    own,
    compaction,
    reading: { ...data, clock: process.clock },
    emptying,
    ...(delegation && { delegation }),
    sessions: data.sessions,
  };
  world.replicas.push(replica);
  return replica;
}

function getScript(messages: readonly ModelMessage[]): { script: Script; results: number } {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const request = messages[at];
  const text = request?.role === 'user' ? request.text : '';
  // Results of sub-agents are announced in plain words.
  const script = text === CONTINUE_PROMPT || !text.startsWith('{') ? GOES_ON : (JSON.parse(text) as Script);
  return { script, results: messages.slice(at + 1).filter(({ role }) => role === 'tool').length };
}

/** Script of an auto-continued turn. */
const GOES_ON: Script = { turn: 'nobody', pieces: 1, tools: [], pace: 10 };

/** Longer than the context window. */
export const TOO_LONG = 'x'.repeat(4_000);
const WINDOW = { provider: 'dev', modelId: 'echo', contextWindow: 1_000, maxTokens: 100, input: ['text'], cost: { input: 0, output: 0 } };

/** Duration of a few turns. */
const SUMMARY_PACE_MS = 400;

function getModels({ clock }: Process, { requests: asked, delegation, waits: { summaryPaceMs = SUMMARY_PACE_MS, goesOn } }: World): Models {
  async function streamTo({ messages, signal }: ModelRequest, sendMessage: OnDelta): Promise<ModelEnd | undefined> {
    const { script, results } = getScript(messages);
    asked.push(script.turn);
    for (let piece = 0; piece < script.pieces; piece += 1) {
      await Promise.race([pause(clock, script.pace), left(signal)]);
      if (!sendMessage(`${piece} `, 'text')) return undefined;
    }
    const name = script.tools[results];
    delegation.judge.sees(messages);
    const call = name !== undefined && { callId: `call${results}`, name, input: { turn: script.turn, call: results }, text: '{}' };
    const usage = { input: 1, output: script.pieces };
    return { calls: call ? [call] : [], reason: call ? 'tool-calls' : 'stop', usage, costUsd: 0 };
  }
  async function complete({ signal }: ModelRequest): Promise<ModelAnswer> {
    await Promise.race([pause(clock, summaryPaceMs), left(signal)]);
    return { text: 'so', reasoning: '', calls: [], reason: 'stop', usage: { input: 1, output: 1 }, costUsd: 0 };
  }
  const found = { provider: 'dev', modelId: 'echo' };
  const known = {
    find: async () => found,
    fallback: async () => found,
    revision: async () => found,
    catalogue: async () => (goesOn ? [WINDOW] : []),
  };
  return { streamTo, complete, ...known } as unknown as Models;
}

/** Rejects when the signal is aborted. */
function left(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
  });
}

/** `look` may be repeated, `act` must not be. */
function getTools(process: Process, judge: Judge): ToolBox {
  return {
    specs: [],
    isReadOnly: (name) => name === 'look',
    isIdempotent: (name) => name === 'look',
    async use({ name, input }) {
      const { turn, call } = input as { turn: string; call: number };
      const request = judge.acts(turn, `${call}`, process);
      try {
        const result = await process.operation(() => {
          if (name === 'act') judge.did(request);
          return 'done';
        });
        return { result, failed: false };
      } catch (error) {
        if (error instanceof ServiceError) return { result: { error: error.code }, failed: true };
        throw error;
      }
    },
  };
}

/** Resets a session as `session.reset` does. */
export async function reset({ emptying, sessions }: Replica, world: World, key: string): Promise<void> {
  await emptying(principal, key, async (session, idle) => {
    const done = (await sessions.for(principal).update(idle, newEpochChange(world.simulation.now(), []))) !== null;
    if (done) world.judge.emptied(session);
    return { done, result: undefined };
  });
}

/** Deletes a session as `session.delete` does. */
export async function remove({ emptying, sessions }: Replica, world: World, key: string): Promise<void> {
  await emptying(principal, key, async (session, idle) => {
    const done = (await sessions.for(principal).remove(idle)) > 0;
    if (done) world.judge.emptied(session);
    return { done, result: undefined };
  });
}

/** Returns whether no work is left. */
export function isQuiet({ sessions, turns, delegation }: World): boolean {
  if (!delegation.isQuiet()) return false;
  for (const { depth, leaseUntil, waitsFor } of sessions.documents.values()) {
    if (depth > 0 || leaseUntil > 0 || waitsFor !== undefined) return false;
  }
  for (const { state, memoryPendingSince, continuePendingSince = 0 } of turns.documents.values()) {
    if (state === 'queued' || state === 'running' || memoryPendingSince !== undefined || continuePendingSince > 0) return false;
  }
  return true;
}
