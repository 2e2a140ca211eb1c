import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningProcess } from '@switchyard/launcher';
import { isAlive } from '../cluster/processes.ts';
import type { ChaosCluster } from './cluster.ts';
import type { History } from './history.ts';
import type { Fault, Planned } from './plan.ts';

const POLL_MS = 20;
/** So long is waited for a process that is not there: it was killed before, and is being started. */
const PATIENCE_MS = 5_000;
/** And so long for one that has come to none of the places where it was told to die. */
const POINT_MS = 8_000;

/** Hurts a cluster. */
export interface Injector {
  /** Everything of a plan, each in its time. Stops early when told to. */
  play(plan: readonly Planned[], signal: AbortSignal): Promise<void>;
  /** Nothing hurts any more: what was stopped goes on. */
  heal(): Promise<void>;
}

export function createInjector(cluster: ChaosCluster, history: History): Injector {
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

  /** In words, what came of it. */
  async function inject(fault: Fault): Promise<string> {
    if (fault.kind === 'point') return dieAt(cluster, fault);
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

  /** A process that is stopped dies all the same, but only one that goes on is started again. */
  function kill(pid: number): void {
    signalTo(pid, 'SIGKILL');
    stopped.delete(pid);
  }

  return {
    async play(plan, signal) {
      for (const { afterMs, fault } of plan) {
        await sleep(afterMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        const trying = history.begin('chaos', 'fault', fault);
        trying.ok({ did: await inject(fault) });
      }
    },
    async heal() {
      for (const pid of stopped) goOn(pid);
      await Promise.all(lasting);
    },
  };
}

/** It may be dead already. */
function signalTo(pid: number, name: NodeJS.Signals): void {
  if (isAlive(pid)) process.kill(pid, name);
}

function find(cluster: ChaosCluster, who: string): RunningProcess | undefined {
  const found = cluster.processes().find(({ replica, service }) => replica === who || service === who);
  return found && isAlive(found.pid) ? found : undefined;
}

async function withProcess(cluster: ChaosCluster, who: string, hurt: (found: RunningProcess) => void): Promise<string> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = find(cluster, who);
    if (found) {
      hurt(found);
      return `process ${found.pid}`;
    }
    if (performance.now() > until) return 'nothing: it was not there';
    await sleep(POLL_MS);
  }
}

/** Tells the replica, and waits until it is dead. */
async function dieAt(cluster: ChaosCluster, { who, point }: Extract<Fault, { kind: 'point' }>): Promise<string> {
  const until = performance.now() + POINT_MS;
  const order = join(cluster.witness, `${who}.point`);
  writeFileSync(order, point);
  // Whoever comes there takes the order away and dies.
  while (existsSync(order)) {
    if (performance.now() > until) {
      rmSync(order, { force: true });
      return 'nothing: it did not come there';
    }
    await sleep(POLL_MS);
  }
  return `${who} ${point}`;
}
