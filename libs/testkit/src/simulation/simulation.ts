import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { dice, type Dice } from './seeded-random.ts';

/** How much goes wrong. Everything is a probability for each operation, or each step. */
export interface Faults {
  /** An operation fails, and has done nothing. */
  failsBefore: number;
  /** An operation fails, and has done what it should. */
  failsAfter: number;
  /** An operation happens so much later that others have stopped waiting for it. */
  slow: number;
  /** Time passes although something could be done. */
  passes: number;
  /** A message is lost; a message comes twice. */
  drops: number;
  repeats: number;
}

export const NO_FAULTS: Faults = { failsBefore: 0, failsAfter: 0, slow: 0, passes: 0, drops: 0, repeats: 0 };

/** A process of the simulation: what it asks for and what it is told goes through the seed's hands. */
export interface Process {
  readonly name: string;
  readonly clock: Clock;
  /** Something outside of it, such as a write to the database: it happens some time later, and is heard of later still. */
  operation<T>(work: () => T): Promise<T>;
  /** Something that comes to it from outside, in the order of the others with the same name. */
  receive(order: string, work: () => void): void;
  /** Stops it for ever. What it asked for last may still happen. */
  kill(): void;
  /** Nothing happens in it for as long; around it time goes on. */
  pause(ms: number): void;
  readonly alive: boolean;
}

/** A world of processes in which a seed decides what happens next. The same seed gives the same story. */
export interface Simulation {
  readonly dice: Dice;
  faults: Faults;
  /** The time of day, as a database tells it. */
  now(): number;
  /** The time of day jumps, and nobody's own clock shows it: a machine that slept. */
  skip(ms: number): void;
  start(name: string): Process;
  /** Until it is so, or nothing more can happen; no longer than so many steps. */
  run(until: () => boolean, steps: number): Promise<boolean>;
}

const BEGINNING = 1_700_000_000_000;
const SLOWEST_MS = 15_000;

interface Pending {
  process: State;
  /** Does it, or tells of it. */
  step: () => void;
  /** It goes on after its process was killed. */
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
  /** What is to be heard, in order, by the name of the order. */
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
    set faults(given) {
      world.faults = given;
    },
    now: () => BEGINNING + Math.floor(world.time) + world.skipped,
    skip: (ms) => void (world.skipped += ms),
    start: (name) => startProcess(world, name),
    async run(until, steps) {
      for (let n = 0; n < steps; n += 1) {
        // Everything that follows from the last step happens before the next one.
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
    clock: clockOf(world, state),
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

function clockOf(world: World, process: State): Clock {
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

/** Between processes nobody stops or sleeps. */
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
  const tell = (told: () => void): void => void world.pending.push({ process, step: told, outlives: false });
  const away = (): ServiceError => new ServiceError('UNAVAILABLE', 'the simulation says no');
  const happen = (): void => {
    if (dice.chance(faults.failsBefore)) return tell(() => reject(away()));
    try {
      const value = work();
      if (dice.chance(faults.failsAfter)) tell(() => reject(away()));
      else tell(() => resolve(value));
    } catch (error) {
      tell(() => reject(error));
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

/** One thing that can happen now, whichever the seed says. */
function act(world: World): boolean {
  const ready = world.pending.filter(({ process, outlives }) => outlives || isAwake(world, process));
  const heard = [...world.processes].flatMap((process) =>
    isAwake(world, process) ? [...process.inbox].filter(([, queue]) => queue.length > 0).map(([order]) => ({ process, order })) : [],
  );
  if (ready.length + heard.length === 0) return false;
  const chosen = world.dice.below(ready.length + heard.length);
  const pending = ready[chosen];
  if (pending) {
    world.pending.splice(world.pending.indexOf(pending), 1);
    pending.step();
    return true;
  }
  const message = heard[chosen - ready.length];
  message?.process.inbox.get(message.order)?.shift()?.();
  return true;
}

function isAwake({ time }: World, { alive, pausedUntil }: State): boolean {
  return alive && pausedUntil <= time;
}

/** Until the next timer, or the end of a pause. */
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
