import { setTimeout as sleep } from 'node:timers/promises';
import type { ServicePresence } from '@switchyard/contracts';

const POLL_MS = 100;
const PATIENCE_MS = 3_000;
/** An undisturbed start takes this long. */
const SAY_AFTER_MS = 2_000;
const SAY_EVERY_MS = 5_000;

/** A replica that every gateway must discover. */
export interface AwaitedReplica {
  name: string;
  /** Its own probe address, which names missing dependencies. */
  url: string;
}

export interface Awaited {
  /** Addresses of the gateways. Each must be ready. */
  gateways: readonly string[];
  replicas: readonly AwaitedReplica[];
  token: string;
  signal: AbortSignal;
  /** Called regularly with the missing dependencies and their reasons. */
  say: (missing: string) => void;
}

/** Resolves when every gateway is ready and discovers every replica. */
export async function awaitReady({ gateways, replicas, token, signal, say }: Awaited): Promise<void> {
  let sayAt = performance.now() + SAY_AFTER_MS;
  for (;;) {
    const seen = await Promise.all(gateways.map((gateway) => look(gateway, token)));
    const absent = replicas.filter(({ name }) => !seen.every(({ there }) => there.has(name)));
    if (absent.length === 0 && seen.every(({ lacks }) => lacks.length === 0)) return;
    if (performance.now() >= sayAt) {
      sayAt = performance.now() + SAY_EVERY_MS;
      say([...new Set([...seen.flatMap(({ lacks }) => lacks), ...(await Promise.all(absent.map(explain)))])].join(', '));
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

interface Readyz {
  dependencies?: Record<string, { ready: boolean; reason?: string }>;
  services?: ServicePresence[];
}

/** Missing dependencies of a gateway, and the replicas it discovers. */
async function look(gateway: string, token: string): Promise<{ lacks: string[]; there: ReadonlySet<string> }> {
  const answer = await sendRequest(gateway, { authorization: `Bearer ${token}` });
  if (answer === undefined) return { lacks: [`the gateway at ${gateway}`], there: new Set() };
  const there = new Set((answer.services ?? []).flatMap((service) => service.replicas.map(({ replica }) => replica)));
  const lacks = getLacking(answer).map((one) => `${gateway} lacks ${one}`);
  return { lacks: answer.ok || lacks.length > 0 ? lacks : [`the gateway at ${gateway}`], there };
}

/** Asks the replica itself, because a replica that is not on the bus yet may wait for a dependency. */
async function explain({ name, url }: AwaitedReplica): Promise<string> {
  const answer = await sendRequest(url);
  const lacking = answer === undefined ? [] : getLacking(answer);
  return lacking.length === 0 ? name : `${name} (${lacking.join('; ')})`;
}

function getLacking({ dependencies = {} }: Readyz): string[] {
  return Object.entries(dependencies).flatMap(([name, { ready, reason }]) => (ready ? [] : [`${name}: ${reason ?? 'not ready'}`]));
}

async function sendRequest(url: string, headers: Record<string, string> = {}): Promise<(Readyz & { ok: boolean }) | undefined> {
  try {
    const response = await fetch(`${url}/readyz`, { headers, signal: AbortSignal.timeout(PATIENCE_MS) });
    return { ...((await response.json()) as Readyz), ok: response.ok };
  } catch {
    return undefined;
  }
}
