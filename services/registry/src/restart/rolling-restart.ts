import { MAX, type RollingRestart } from '@switchyard/contracts';
import { countReady, countReadyFor, parseService, type LiveProcess } from './live-processes.ts';

export interface PlanRestartOptions {
  id: string;
  by: string;
  now: number;
}

export interface ProcessView {
  live: readonly LiveProcess[];
  now: number;
  /** Time for a process to stop, to be started by its supervisor and to become ready. After it the restart is stopped. */
  stepTimeoutMs: number;
  /** Time for load balancers to notice a restarted gateway before the next one stops. */
  settleMs: number;
}

/** Plans the order: processes that are not ready first, gateways last. */
export function planRestart(live: readonly LiveProcess[], { id, by, now }: PlanRestartOptions): RollingRestart {
  const order = (one: LiveProcess): string => `${one.ready ? 1 : 0}${hasEdge(one) ? 1 : 0}${one.replicas[0] ?? ''}`;
  const waiting = live
    .toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
    .slice(0, MAX.many)
    .map(({ process, replicas }) => ({ process, replicas }));
  return { id, by, since: now, movedAt: now, state: 'running', ready: countReady(live), restarted: [], waiting };
}

/**
 * Computes the next step; undefined while waiting. It depends only on the stored plan and the running processes, so that any replica
 * of the registry can continue.
 */
export function nextStep(restart: RollingRestart, view: ProcessView): RollingRestart | undefined {
  if (restart.state !== 'running') return undefined;
  const step = restart.turn === undefined ? beginTurn(restart, view) : finishTurn(restart, restart.turn, view);
  if (typeof step !== 'string') return { ...step, movedAt: view.now };
  if (view.now - restart.movedAt < view.stepTimeoutMs) return undefined;
  return { ...restart, state: 'stopped', reason: `not within ${Math.round(view.stepTimeoutMs / 1_000)} s: ${step}`.slice(0, MAX.line) };
}

/** Asks the next process to stop, or returns what it waits for. Processes that are gone are skipped. */
function beginTurn(restart: RollingRestart, { live }: ProcessView): RollingRestart | string {
  const [next, ...waiting] = restart.waiting.filter(({ process }) => live.some((one) => one.process === process));
  if (next === undefined) return { ...restart, waiting: [], state: 'done' };
  const others = live.filter(({ process }) => process !== next.process);
  const self = others.length < live.length && live.some((one) => one.process === next.process && one.ready) ? 1 : 0;
  const services = next.replicas.map(parseService);
  const lackingService = services.find((service) => countReadyFor(others, service) < (restart.ready[service] ?? 0) - self);
  if (lackingService !== undefined) return `${lackingService} has fewer ready replicas than before`;
  const needs = Object.fromEntries(services.map((service) => [service, countReadyFor(others, service) + 1]));
  return { ...restart, waiting, turn: { ...next, needs } };
}

/** Continues once a new process has replaced the old one, or returns what it waits for. */
function finishTurn(restart: RollingRestart, turn: NonNullable<RollingRestart['turn']>, view: ProcessView): RollingRestart | string {
  const { live, now, settleMs } = view;
  const name = turn.replicas.join(', ');
  if (live.some(({ process }) => process === turn.process)) return `${name} did not stop`;
  const isBack = Object.entries(turn.needs).every(([service, count]) => countReadyFor(live, service) >= count);
  if (!isBack) return `${name} stopped and has not become ready again`;
  if (turn.replicas.some((replica) => parseService(replica) === 'gateway')) {
    if (turn.backAt === undefined) return { ...restart, turn: { ...turn, backAt: now } };
    if (now - turn.backAt < settleMs) return `${name} has restarted, and load balancers may not have noticed yet`;
  }
  const { turn: _over, ...rest } = restart;
  return { ...rest, restarted: [...restart.restarted, ...turn.replicas].slice(-MAX.many) };
}

function hasEdge({ services }: LiveProcess): boolean {
  return services.includes('gateway');
}
