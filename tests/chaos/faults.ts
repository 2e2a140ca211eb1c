import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningProcess } from '@switchyard/contracts';
import { isAlive } from '../cluster/processes.ts';
import type { ChaosCluster } from './cluster.ts';
import type { History } from './history.ts';
import { placeIn, type Fault, type Planned } from './plan.ts';
import type { Seekers } from './workload/seekers.ts';

const POLL_MS = 20;
/** Time to wait for a process that an earlier fault killed and that is restarting. */
const PATIENCE_MS = 5_000;
/** Time to wait until a process reaches the point at which it must die. */
const POINT_MS = 60_000;
/** A turn whose runner died is taken over within this time. */
const TAKEOVER_MS = 10_000;

/** Injects faults into a cluster. */
export interface Injector {
  /** Plays all faults of a plan at their times. Stops early when aborted. */
  play(plan: readonly Planned[], signal: AbortSignal): Promise<void>;
  /** Ends all faults and resumes stopped processes. */
  heal(): Promise<void>;
}

export interface InjectorDeps {
  cluster: ChaosCluster;
  history: History;
  /** Makes clients send requests that reach a point. */
  seek: Seekers['seek'];
}

export function createInjector({ cluster, history, seek }: InjectorDeps): Injector {
  const stopped = new Set<number>();
  const lasting = new Set<Promise<unknown>>();

  function last(work: Promise<unknown>): void {
    lasting.add(work);
    void work.finally(() => lasting.delete(work));
  }

  async function stop(pid: number, ms: number): Promise<void> {
    signalTo(pid, 'SIGSTOP');
    stopped.add(pid);
    await sleep(ms);
    goOn(pid);
  }

  function goOn(pid: number): void {
    if (stopped.delete(pid)) signalTo(pid, 'SIGCONT');
  }

  /** The outcome, as text. */
  async function inject(fault: Fault): Promise<string> {
    if (fault.kind === 'point') return dieAt(fault);
    if (fault.kind === 'kill') return withProcess(cluster, fault.who, ({ pid }) => kill(pid));
    if (fault.kind === 'stop') return withProcess(cluster, fault.who, ({ pid }) => last(stop(pid, fault.ms)));
    if (fault.kind === 'wipe') return withProcess(cluster, 'nats', ({ pid }) => wipe(pid));
    last(cluster.proxies[fault.where].loseReplies(fault.ms));
    return 'done';
  }

  function wipe(pid: number): void {
    kill(pid);
    cluster.wipeStreams();
  }

  /** SIGKILL also ends a stopped process, but only a resumed one is restarted. */
  function kill(pid: number): void {
    signalTo(pid, 'SIGKILL');
    stopped.delete(pid);
  }

  async function hurt(fault: Fault): Promise<void> {
    const trying = history.begin('chaos', 'fault', fault);
    trying.ok({ did: await inject(fault) });
  }

  /** Orders the replica to die at a point and waits until it is dead. All earlier victims are running again at that time. */
  async function dieAt({ who, point }: Extract<Fault, { kind: 'point' }>): Promise<string> {
    const order = join(cluster.witness, `${who}.point`);
    using _seeking = seek(placeIn(point));
    await cluster.ready(AbortSignal.timeout(POINT_MS)).catch(() => undefined);
    writeFileSync(order, point);
    const from = performance.now();
    // The process that reaches the point deletes the order and dies.
    for (let helped = 0; existsSync(order);) {
      const waited = performance.now() - from;
      if (waited > POINT_MS) {
        rmSync(order, { force: true });
        return 'nothing: it did not come there';
      }
      if (placeIn(point) === 'take' && waited > (helped + 1) * TAKEOVER_MS) {
        helped += 1;
        // A turn is taken over only from a runner that died.
        await hurt({ kind: 'kill', who: getNeighbour(who) });
      }
      await sleep(POLL_MS);
    }
    return `${who} ${point}`;
  }

  return {
    async play(plan, signal) {
      for (const { afterMs, fault } of plan) {
        await sleep(afterMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        await hurt(fault);
      }
    },
    async heal() {
      for (const pid of stopped) goOn(pid);
      await Promise.all(lasting);
    },
  };
}

/** The process may already be dead. */
function signalTo(pid: number, name: NodeJS.Signals): void {
  if (isAlive(pid)) process.kill(pid, name);
}

function find(cluster: ChaosCluster, who: string): RunningProcess | undefined {
  const found = cluster.processes().find(({ replica, service }) => replica === who || service === who);
  return found && isAlive(found.pid) ? found : undefined;
}

async function withProcess(cluster: ChaosCluster, who: string, hurt: (found: RunningProcess) => void): Promise<string> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = find(cluster, who);
    if (found) {
      hurt(found);
      return `process ${found.pid}`;
    }
    if (performance.now() > deadline) return 'nothing: it was not there';
    await sleep(POLL_MS);
  }
}

/** Returns the other replica of a service. */
function getNeighbour(replica: string): string {
  return replica.endsWith('-1') ? replica.replace(/1$/, '2') : replica.replace(/2$/, '1');
}
