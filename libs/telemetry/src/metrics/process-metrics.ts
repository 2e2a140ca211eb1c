import { monitorEventLoopDelay, performance, type EventLoopUtilization } from 'node:perf_hooks';
import { observe } from './instruments.ts';

/** Minimum age of an event-loop sample before a new one is taken, so that concurrent readers see the same values. */
const WINDOW_MS = 10_000;
/** Minimum age of the first sample. */
const FIRST_MS = 500;
const RESOLUTION_MS = 10;
const NANOS = 1e9;

let observers = 0;
let unobserve: (() => void) | undefined;

/** Registers process and event-loop metrics. Returns a function that ends it; the last caller stops the measurement. */
export function observeProcess(): () => void {
  observers++;
  unobserve ??= observeAll();
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    if (--observers > 0) return;
    unobserve?.();
    unobserve = undefined;
  };
}

function observeAll(): () => void {
  const loop = watchEventLoop();
  const ends = [
    observe('process.cpu.time', { 'cpu.mode': 'user' }, () => process.cpuUsage().user / 1e6),
    observe('process.cpu.time', { 'cpu.mode': 'system' }, () => process.cpuUsage().system / 1e6),
    observe('process.memory.usage', {}, () => process.memoryUsage.rss()),
    observe('process.uptime', {}, () => process.uptime()),
    observe('v8js.memory.heap.used', {}, () => process.memoryUsage().heapUsed),
    observe('nodejs.eventloop.delay.p50', {}, () => loop.look().p50),
    observe('nodejs.eventloop.delay.p99', {}, () => loop.look().p99),
    observe('nodejs.eventloop.delay.max', {}, () => loop.look().max),
    observe('nodejs.eventloop.utilization', {}, () => loop.look().utilization),
  ];
  return () => {
    loop.end();
    for (const end of ends) end();
  };
}

interface LoopLook {
  p50: number;
  p99: number;
  max: number;
  utilization: number;
}

const NOTHING_SEEN: LoopLook = { p50: Number.NaN, p99: Number.NaN, max: Number.NaN, utilization: Number.NaN };

/**
 * Measures the event loop. The first read starts the measurement and returns no values, so that a process without readers has no
 * timer. Each later sample covers the time since the previous one.
 */
function watchEventLoop(): { look(): LoopLook; end(): void } {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let utilization: EventLoopUtilization | undefined;
  let seen = NOTHING_SEEN;
  let seenAt = 0;

  /** Subtracts the resolution, because the histogram contains the timer interval in addition to the delay. */
  const late = (nanos: number): number => Math.max(0, nanos / NANOS - RESOLUTION_MS / 1e3) || 0;

  function begin(): void {
    delay.enable();
    utilization = performance.eventLoopUtilization();
  }

  function lookNow(before: EventLoopUtilization): void {
    const used = performance.eventLoopUtilization();
    seen = {
      p50: late(delay.percentile(50)),
      p99: late(delay.percentile(99)),
      max: late(delay.max),
      utilization: performance.eventLoopUtilization(used, before).utilization,
    };
    utilization = used;
    delay.reset();
  }

  return {
    look() {
      const now = performance.now();
      if (now - seenAt < (seen === NOTHING_SEEN ? FIRST_MS : WINDOW_MS) && utilization !== undefined) return seen;
      seenAt = now;
      if (utilization === undefined) begin();
      else lookNow(utilization);
      return seen;
    },
    end: () => void delay.disable(),
  };
}
