import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { dice, type Dice } from './seeded-random.ts';

/** Fault probabilities per operation or per step. */
export interface Faults {
  /** An operation fails without an effect. */
  failsBefore: number;
  /** An operation fails after its effect. */
  failsAfter: number;
  /** An operation happens after other processes have stopped waiting for it. */
  slow: number;
  /** Time passes although a step is possible. */
  passes: number;
  /** A message is lost; a message is delivered twice. */
  drops: number;
  repeats: number;
}

export const NO_FAULTS: Faults = { failsBefore: 0, failsAfter: 0, slow: 0, passes: 0, drops: 0, repeats: 0 };

/** A simulated process. The seed decides when its operations and messages happen. */
export interface Process {
  readonly name: string;
  readonly clock: Clock;
  /** Runs an external operation, such as a database write, at a later step and delivers its result at a further one. */
  operation<T>(work: () => T): Promise<T>;
  /** Delivers an external message; messages with the same order name stay in order. */
  receive(order: string, work: () => void): void;
  /** Kills the process. Its pending operations may still happen. */
  kill(): void;
  /** Suspends the process while time passes for others. */
  pause(ms: number): void;
  readonly alive: boolean;
}

/** A set of processes in which a seed decides the next step. The same seed gives the same run. */
export interface Simulation {
  readonly dice: Dice;
  faults: Faults;
  /** Wall-clock time, as the database reports it. */
  now(): number;
  /** Advances only the wall-clock time, like a suspended machine. */
  skip(ms: number): void;
  start(name: string): Process;
  /** Runs until the condition holds, no step is possible, or the number of steps is reached. */
  run(waitUntil: () => boolean, steps: number): Promise<boolean>;
}

const BEGINNING = 1_700_000_000_000;
const SLOWEST_MS = 15_000;

interface Pending {
  process: State;
  /** Performs the operation or delivers its result. */
  step: () => void;
  /** Whether it may happen after its process was killed. */
  outlives: boolean;
}

interface Timer {
  process: State;
  at: number;
  everyMs: number | undefined;
  work: () => void;
  stopped: boolean;
}

interface State {
  alive: boolean;
  pausedUntil: number;
  /** Undelivered messages by order name. */
  inbox: Map<string, (() => void)[]>;
}

interface World {
  dice: Dice;
  faults: Faults;
  time: number;
  skipped: number;
  pending: Pending[];
  timers: Set<Timer>;
  processes: Set<State>;
}

export function createSimulation(seed: number, faults: Faults): Simulation {
  const world: World = {
    dice: dice(seed),
    faults,
    time: 0,
    skipped: 0,
    pending: [],
    timers: new Set(),
    processes: new Set(),
  };
  return {
    dice: world.dice,
    get faults() {
      return world.faults;
    },
    set faults(options) {
      world.faults = options;
    },
    now: () => BEGINNING + Math.floor(world.time) + world.skipped,
    skip: (ms) => void (world.skipped += ms),
    start: (name) => startProcess(world, name),
    async run(until, steps) {
      for (let n = 0; n < steps; n += 1) {
        // All microtasks of the last step run before the next one.
        await new Promise((resolve) => void setImmediate(resolve));
        if (until()) return true;
        if (!step(world)) return until();
      }
      return false;
    },
  };
}

function startProcess(world: World, name: string): Process {
  const state: State = { alive: true, pausedUntil: 0, inbox: new Map() };
  world.processes.add(state);
  return {
    name,
    clock: getClock(world, state),
    operation: (work) => operation(world, state, work),
    receive(order, work) {
      if (!state.alive || world.dice.chance(world.faults.drops)) return;
      const queue = state.inbox.get(order) ?? [];
      state.inbox.set(order, queue);
      queue.push(work);
      if (world.dice.chance(world.faults.repeats)) queue.push(work);
    },
    kill() {
      state.alive = false;
      state.inbox.clear();
      world.pending = world.pending.filter(({ process, outlives }) => process !== state || (outlives && world.dice.chance(0.5)));
      for (const timer of world.timers) if (timer.process === state) world.timers.delete(timer);
    },
    pause: (ms) => void (state.pausedUntil = world.time + ms),
    get alive() {
      return state.alive;
    },
  };
}

function getClock(world: World, process: State): Clock {
  const add = (ms: number, work: () => void, everyMs?: number): (() => void) =>
    process.alive ? addTimer(world, { process, at: world.time + ms, everyMs, work }) : () => undefined;
  return {
    now: () => world.time,
    after: (ms, work) => add(ms, work),
    every: (ms, work) => add(ms, work, ms),
    soon(work) {
      if (process.alive) world.pending.push({ process, step: work, outlives: false });
    },
  };
}

/** The network is a process that never stops. */
const NETWORK: State = { alive: true, pausedUntil: 0, inbox: new Map() };

function addTimer(world: World, given: Omit<Timer, 'stopped'>): () => void {
  const timer = { ...given, stopped: false };
  world.timers.add(timer);
  return () => {
    timer.stopped = true;
    world.timers.delete(timer);
  };
}

function operation<T>(world: World, process: State, work: () => T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const { dice, faults } = world;
  const notify = (told: () => void): void => void world.pending.push({ process, step: told, outlives: false });
  const away = (): ServiceError => new ServiceError('UNAVAILABLE', 'the simulation says no');
  const happen = (): void => {
    if (dice.chance(faults.failsBefore)) return notify(() => reject(away()));
    try {
      const value = work();
      if (dice.chance(faults.failsAfter)) notify(() => reject(away()));
      else notify(() => resolve(value));
    } catch (error) {
      notify(() => reject(error));
    }
  };
  if (!process.alive) return promise;
  const begin = (): void => void world.pending.push({ process, step: happen, outlives: true });
  if (dice.chance(faults.slow))
    addTimer(world, { process: NETWORK, at: world.time + dice.below(SLOWEST_MS), everyMs: undefined, work: begin });
  else begin();
  return promise;
}

function step(world: World): boolean {
  const { dice, faults } = world;
  if (dice.chance(faults.passes) && passTime(world)) return true;
  return act(world) || passTime(world);
}

/** Performs one of the possible steps, chosen by the seed. */
function act(world: World): boolean {
  const ready = world.pending.filter(({ process, outlives }) => outlives || isAwake(world, process));
  const receivedMessages = [...world.processes].flatMap((process) =>
    isAwake(world, process) ? [...process.inbox].filter(([, queue]) => queue.length > 0).map(([order]) => ({ process, order })) : [],
  );
  if (ready.length + receivedMessages.length === 0) return false;
  const chosen = world.dice.below(ready.length + receivedMessages.length);
  const pending = ready[chosen];
  if (pending) {
    world.pending.splice(world.pending.indexOf(pending), 1);
    pending.step();
    return true;
  }
  const message = receivedMessages[chosen - ready.length];
  message?.process.inbox.get(message.order)?.shift()?.();
  return true;
}

function isAwake({ time }: World, { alive, pausedUntil }: State): boolean {
  return alive && pausedUntil <= time;
}

/** Advances the time to the next timer or the end of a pause. */
function passTime(world: World): boolean {
  let next: Timer | undefined;
  const dueAt = ({ at, process }: Timer): number => Math.max(at, process.pausedUntil);
  for (const timer of world.timers) if (!next || dueAt(timer) < dueAt(next)) next = timer;
  if (!next) return false;
  world.time = Math.max(world.time, dueAt(next));
  if (next.everyMs === undefined) world.timers.delete(next);
  else next.at = world.time + next.everyMs;
  if (!next.stopped) next.work();
  return true;
}
