import { setTimeout as delay } from 'node:timers/promises';
import { EMBEDDED_FLAGS } from '@switchyard/contracts';
import { tempDir } from '@switchyard/testkit';
import { freePort } from './free-port.ts';
import { mintBenchToken, productEnvironment } from './product.ts';
import { residentKib } from './proc.ts';
import type { Outcome } from './measure.ts';
import { pairedRatios } from './statistics.ts';
import { buildCall } from './rows.ts';
import { startNode } from './subject.ts';

const POLL_MS = 5;
const START_TIMEOUT_MS = 30_000;
const IDLE_MS = 2_000;

interface Started {
  seconds: number;
  mib: number;
}

/** Row 13: time from spawning the process to the first response of a service, on an empty data directory. */
export async function measureStart(
  rounds: number,
  onProgress: (description: string) => void,
): Promise<{ outcomes: Outcome[]; notes: string[] }> {
  const ours: Started[] = [];
  const bare: Started[] = [];
  for (let round = 0; round < rounds; round++) {
    onProgress(`start, round ${round + 1} of ${rounds}`);
    ours.push(await startOurs());
    bare.push(await startBare());
  }
  const seconds = ours.map((one) => one.seconds);
  const mib = ours.map((one) => one.mib);
  const line = { row: 13, ours: 'embedded' as const };
  return {
    outcomes: [
      { ...line, what: 'spawn → first gateway.status', values: seconds, unit: 's', target: { most: 2.5 } },
      {
        ...line,
        what: 'the same ÷ bare (node and Fastify)',
        values: pairedRatios(
          seconds,
          bare.map((one) => one.seconds),
        ),
        unit: 'x',
        target: {},
      },
      { ...line, what: 'idle RSS', values: mib, unit: 'MiB', target: { most: 250 } },
      {
        ...line,
        what: 'the same ÷ bare (node and Fastify)',
        values: pairedRatios(
          mib,
          bare.map((one) => one.mib),
        ),
        unit: 'x',
        target: {},
      },
    ],
    notes: [],
  };
}

async function startOurs(): Promise<Started> {
  await using data = await tempDir();
  const token = mintBenchToken();
  const port = String(await freePort());
  const env = { ...productEnvironment(data.path, token), SWITCHYARD_PORT: port };
  return await time('services/embedded/src/main.ts', { env, port, headers: { authorization: `Bearer ${token}` }, flags: EMBEDDED_FLAGS });
}

async function startBare(): Promise<Started> {
  const port = String(await freePort());
  return await time('bench/baselines/bare.ts', { env: { PORT: port }, port, headers: {} });
}

interface StartOptions {
  env: Record<string, string>;
  port: string;
  headers: Record<string, string>;
  flags?: readonly string[];
}

async function time(script: string, { env, port, headers, flags = [] }: StartOptions): Promise<Started> {
  const url = `http://127.0.0.1:${port}/rpc`;
  const spawned = performance.now();
  await using child = await startNode(script, { env, flags });
  while (!(await answers(url, headers))) {
    if (performance.now() - spawned > START_TIMEOUT_MS) throw new Error(`${script} did not answer; it wrote:\n${child.output()}`);
    await delay(POLL_MS);
  }
  const seconds = (performance.now() - spawned) / 1_000;
  await delay(IDLE_MS);
  const mib = residentKib(child.pid) / 1_024;
  await child.end();
  return { seconds, mib };
}

async function answers(url: string, headers: Record<string, string>): Promise<boolean> {
  try {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: buildCall('gateway.status') };
    return (await (await fetch(url, init)).text()).includes('"result"');
  } catch {
    // The server is not listening yet.
    return false;
  }
}
