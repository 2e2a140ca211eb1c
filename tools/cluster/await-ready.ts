import { setTimeout as sleep } from 'node:timers/promises';
import type { ServicePresence } from '@switchyard/contracts';

const POLL_MS = 100;
const PATIENCE_MS = 3_000;
const SAY_EVERY_MS = 5_000;

export interface Awaited {
  /** Addresses of the gateways: each has to be ready. */
  gateways: readonly string[];
  /** Every replica that has to be found on the bus. */
  replicas: readonly string[];
  token: string;
  signal: AbortSignal;
  /** Told now and then what is still missing. */
  say: (missing: string) => void;
}

/** Resolves once every gateway takes work and sees every replica. */
export async function awaitReady({ gateways, replicas, token, signal, say }: Awaited): Promise<void> {
  let said = performance.now();
  for (;;) {
    const missing = (await Promise.all(gateways.map((gateway) => look(gateway, replicas, token)))).flat();
    if (missing.length === 0) return;
    if (performance.now() - said > SAY_EVERY_MS) {
      said = performance.now();
      say([...new Set(missing)].join(', '));
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function look(gateway: string, replicas: readonly string[], token: string): Promise<string[]> {
  try {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${gateway}/readyz`, { headers, signal: AbortSignal.timeout(PATIENCE_MS) });
    const body = (await response.json()) as {
      dependencies?: Record<string, { ready: boolean; reason?: string }>;
      services?: ServicePresence[];
    };
    const there = new Set((body.services ?? []).flatMap((service) => service.replicas.map(({ replica }) => replica)));
    const lacking = Object.entries(body.dependencies ?? {}).flatMap(([name, { ready, reason }]) =>
      ready ? [] : [`${name} of ${gateway} (${reason ?? 'not ready'})`],
    );
    const absent = replicas.filter((replica) => !there.has(replica));
    return response.ok || lacking.length > 0 ? [...lacking, ...absent] : [...absent, `the gateway at ${gateway}`];
  } catch {
    return [`the gateway at ${gateway}`];
  }
}
