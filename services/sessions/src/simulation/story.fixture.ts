import { AgentConfig, ServiceError, type Principal } from '@switchyard/contracts';
import type { ModelMessage, ModelPart, ModelRequest, Models } from '@switchyard/models';
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
import type { Agent, AgentDirectory } from '../agents.ts';
import type { BodyDocument, GoneDocument, SessionDocument, TurnDocument } from '../data.ts';
import { openRunner } from '../service.ts';
import type { QueueMode } from '../sessions/queue-policy.ts';
import { createLogShares } from '../turns/log-shares.ts';
import { createEmptying, emptied, type Emptying } from '../sessions/emptying.ts';
import type { Runner } from '../turns/runner.ts';
import type { ToolBox } from '../turns/tools.ts';
import { createJudge, type Judge } from './judge.fixture.ts';

export const principal: Principal = { tenant: 'default', client: 'alice', scopes: ['*'] };

/** What a message of a story says that its turn does: so many pieces of text, and these tools before the end. */
export interface Script {
  turn: string;
  pieces: number;
  tools: readonly ('look' | 'act')[];
  /** Milliseconds between two things that it does. */
  pace: number;
}

/** Two replicas of the service, or more one after another, in a world that a seed drives. */
export interface World {
  simulation: Simulation;
  judge: Judge;
  bus: SimulatedBus;
  sessions: SimulatedData<SessionDocument>;
  turns: SimulatedData<TurnDocument>;
  bodies: SimulatedData<BodyDocument>;
  gone: SimulatedData<GoneDocument>;
  replicas: Replica[];
  started: number;
  waits: Waits;
}

export interface Replica {
  process: Process;
  runner: Runner;
  own: AsyncDisposableStack;
  emptying: Emptying;
  sessions: ReturnType<SimulatedData<SessionDocument>['from']>;
}

export interface WorldOptions {
  seed: number;
  faults?: Faults;
  waits?: Waits | undefined;
  sabotage?: Watching['sabotage'];
}

export function createWorld({ seed, faults = NO_FAULTS, waits = USUAL, sabotage }: WorldOptions): World {
  const judge = createJudge();
  const watching = { ...judge.watching, ...(sabotage ? { sabotage } : {}) };
  const bus = createSimulatedBus();
  judge.hear(bus);
  return {
    simulation: createSimulation(seed, faults),
    judge,
    bus,
    sessions: simulatedData('sessions', { key: 'key' }, watching),
    turns: simulatedData('turns', { key: 'turnId', unique: ['idempotencyKey'] }, watching),
    bodies: simulatedData('bodies', { key: 'id' }, watching),
    gone: simulatedData('gone', { key: 'epoch' }, watching),
    replicas: [],
    started: 0,
    waits,
  };
}

export interface Waits {
  mode: QueueMode;
  policy: 'drop-new' | 'drop-old' | 'summarize';
  /** Some of the messages empty their session. */
  resets?: true;
}
export const USUAL: Waits = { mode: 'followup', policy: 'drop-new' };

function settingsOf({ mode: defaultMode, policy }: Waits): Settings<'queue' | 'daemon'> {
  const defaultOverflow = { maxDepth: 4, policy };
  const queue = { maxConcurrentSessions: 3, defaultMode, defaultOverflow, perChannel: {}, maxWaiting: 1_000, waitTimeoutMs: 600_000 };
  return { current: { queue, daemon: { shutdownTimeoutMs: 8_000 } } } as unknown as Settings<'queue' | 'daemon'>;
}

function agentOf(agentId: string, maxConcurrentRuns: number): Agent {
  const config = AgentConfig.parse({ model: 'dev/echo', concurrency: { maxConcurrentRuns } });
  return { agentId, tenant: 'default', suspended: false, isDefault: agentId === 'wide', config };
}

const AGENTS = [agentOf('wide', 2), agentOf('narrow', 1)];
const agents: AgentDirectory = {
  find: (tenant, agentId) => (tenant === 'default' ? AGENTS.find((agent) => agent.agentId === agentId) : undefined),
  default: () => AGENTS[0]!,
  all: (tenant) => (tenant === 'default' ? AGENTS : []),
  [Symbol.asyncDispose]: async () => undefined,
};

/** One more replica of the service: all of its code, on the clock, the store and the bus of the world. */
export function startReplica(world: World): Replica {
  const { simulation, bus, judge } = world;
  const process = simulation.start(`r${++world.started}`);
  const data = {
    sessions: world.sessions.from(process),
    turns: world.turns.from(process),
    bodies: world.bodies.from(process),
    gone: world.gone.from(process),
  };
  const store = { now: () => simulation.now() };
  const own = new AsyncDisposableStack();
  const given = {
    ...data,
    store,
    agents,
    settings: settingsOf(world.waits),
    log: silentLogger(),
    own,
    owner: process.name,
    timing: {},
    shares: createLogShares({ clock: process.clock, room: () => Infinity }),
  };
  const runner = openRunner({
    ...given,
    clock: process.clock,
    bus: bus.from(process),
    models: modelsOf(process),
    tools: () => toolsOf(process, judge),
  });
  const replica = { process, runner, own, emptying: createEmptying({ ...data, store, clock: process.clock }), sessions: data.sessions };
  world.replicas.push(replica);
  return replica;
}

function scriptOf(messages: readonly ModelMessage[]): { script: Script; results: number } {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const asked = messages[at];
  const script = JSON.parse(asked?.role === 'user' ? asked.text : '') as Script;
  return { script, results: messages.slice(at + 1).filter(({ role }) => role === 'tool').length };
}

function modelsOf({ clock }: Process): Models {
  async function* stream({ messages, signal }: ModelRequest): AsyncGenerator<ModelPart, void, void> {
    const { script, results } = scriptOf(messages);
    for (let piece = 0; piece < script.pieces; piece += 1) {
      await Promise.race([pause(clock, script.pace), left(signal)]);
      yield { type: 'text', text: `${piece} ` };
    }
    const name = script.tools[results];
    if (name !== undefined) {
      const call = { callId: `call${results}`, name, input: { turn: script.turn, call: results }, text: '{}' };
      yield { type: 'tool-call', call };
    }
    yield { type: 'finish', reason: name === undefined ? 'stop' : 'tool-calls', usage: { input: 1, output: script.pieces }, costUsd: 0 };
  }
  const found = { provider: 'dev', modelId: 'echo' };
  return { stream, find: async () => found, fallback: async () => found } as unknown as Models;
}

/** Rejects when nobody wants to hear any more. */
function left(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
  });
}

/** `look` may be repeated, `act` must not be. */
function toolsOf(process: Process, judge: Judge): ToolBox {
  return {
    specs: [],
    repeatable: (name) => name === 'look',
    async use({ name, input }) {
      const { turn, call } = input as { turn: string; call: number };
      judge.acts(turn, `${call}`, process);
      try {
        const result = await process.operation(() => {
          if (name === 'act') judge.did(turn, `${call}`);
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

/** What `session.reset` does. */
export async function reset({ emptying, sessions }: Replica, world: World, key: string): Promise<void> {
  await emptying(principal, key, async (session, idle) => {
    const done = (await sessions.for(principal).update(idle, emptied(world.simulation.now(), []))) !== null;
    if (done) world.judge.emptied(session);
    return { done, result: undefined };
  });
}

/** What `session.delete` does. */
export async function remove({ emptying, sessions }: Replica, world: World, key: string): Promise<void> {
  await emptying(principal, key, async (session, idle) => {
    const done = (await sessions.for(principal).remove(idle)) > 0;
    if (done) world.judge.emptied(session);
    return { done, result: undefined };
  });
}

/** Whether nothing is left to be done. */
export function isQuiet({ sessions, turns }: World): boolean {
  for (const { depth, leaseUntil, waitsFor } of sessions.documents.values()) {
    if (depth > 0 || leaseUntil > 0 || waitsFor !== undefined) return false;
  }
  for (const { state } of turns.documents.values()) if (state === 'queued' || state === 'running') return false;
  return true;
}
