import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { parseRunFile, type RunningProcess, type ServicePresence } from '@switchyard/contracts';
import type { Running } from '../e2e/embedded.ts';

const POLL_MS = 50;
const PATIENCE_MS = 30_000;

export const SKIP =
  (process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off') ||
  (process.env['SWITCHYARD_TEST_TARGET'] === 'embedded' && 'SWITCHYARD_TEST_TARGET=embedded');

export async function getProcesses({ data }: Pick<Running, 'data'>): Promise<readonly RunningProcess[]> {
  return parseRunFile(await readFile(`${data}/run.json`, 'utf8'))?.processes ?? [];
}

export async function getProcess(product: Pick<Running, 'data'>, replica: string): Promise<RunningProcess> {
  return (await getProcesses(product)).find((one) => one.replica === replica) ?? assert.fail(`there is no ${replica}`);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Replicas that every gateway discovers, with their pids by name; undefined while a gateway is not ready. */
export async function whoAnswers(product: Running): Promise<Map<string, number> | undefined> {
  const gateways = (await getProcesses(product)).filter(({ service }) => service === 'gateway');
  const seen = await Promise.all(gateways.map(({ ports }) => readiness(`http://127.0.0.1:${ports['http']}`, product.token)));
  if (seen.some((one) => one === undefined)) return undefined;
  const replicas = seen.map((services) => (services ?? []).flatMap((service) => service.replicas));
  const everywhere = replicas[0]?.filter(({ pid }) => replicas.every((others) => others.some((other) => other.pid === pid))) ?? [];
  return new Map(everywhere.map(({ replica, pid }) => [replica, pid]));
}

/** Resolves when exactly these replicas are discovered. A busy replica may be missing at a gateway for a moment. */
export async function answering(product: Running, replicas: readonly string[]): Promise<void> {
  const since = performance.now();
  for (;;) {
    const receivedMessages = [...((await whoAnswers(product))?.keys() ?? [])].toSorted();
    if (isDeepStrictEqual(receivedMessages, replicas.toSorted())) return;
    if (performance.now() - since > PATIENCE_MS) return assert.deepEqual(receivedMessages, replicas.toSorted());
    await sleep(POLL_MS);
  }
}

async function readiness(gateway: string, token: string): Promise<ServicePresence[] | undefined> {
  try {
    const response = await fetch(`${gateway}/readyz`, { headers: { authorization: `Bearer ${token}` } });
    const { services } = (await response.json()) as { services?: ServicePresence[] };
    return response.ok ? services : undefined;
  } catch {
    return undefined; // the gateway is restarting
  }
}

/** Resolves when another process has replaced this one and is ready. */
export async function replaced(product: Running, { replica, pid }: Pick<RunningProcess, 'replica' | 'pid'>): Promise<RunningProcess> {
  for (;;) {
    const now = await getProcess(product, replica);
    if (now.pid !== pid && (await whoAnswers(product))?.get(replica) === now.pid) return now;
    await sleep(POLL_MS);
  }
}
