import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunningProcess } from '@switchyard/contracts';
import { readRunFile } from '@switchyard/launcher';
import { openKeys } from '../../scripts/cluster/keys.ts';
import { natsKey } from '../../scripts/cluster/services.ts';
import { awaitReady } from '../../scripts/cluster/await-ready.ts';
import { startCluster } from '../../scripts/cluster/start-cluster.ts';
import type { BusAccess } from './event-log.ts';
import type { Path } from './plan.ts';
import { openProxy, type Proxy } from './proxy.ts';

const GUARD = fileURLToPath(new URL('./guard.ts', import.meta.url));
const PRELOAD = fileURLToPath(new URL('./witness/preload.ts', import.meta.url));
/** Whoever is killed again and again is started again as fast as the first time, nearly. */
const LONGEST_WAIT_MS = 1_000;

/** More than hours of it use. */
const budgets = { perHour: 1_000_000_000_000, perDay: 1_000_000_000_000 };

/** Clients that hurry are not what is tried here; queues that fill are. */
const CONFIG = {
  // Each question has an answer of its own to be compared with.
  queue: { defaultMode: 'followup' },
  gateway: {
    rateLimit: { maxRequests: 1_000_000 },
    wsMessageRateLimit: { maxMessages: 1_000_000 },
    authFailures: { maxFailures: 1_000_000 },
    drainDelayMs: 0,
  },
  agents: {
    default: { budgets },
    scripted: { provider: 'dev', model: 'scripted', budgets },
    narrow: { provider: 'dev', model: 'scripted', budgets, concurrency: { maxConcurrentRuns: 1 } },
  },
};

/** A cluster that can be hurt. */
export interface ChaosCluster {
  /** Where clients reach it, through a proxy. */
  readonly url: string;
  readonly token: string;
  /** The database itself, with nothing between. */
  readonly store: string;
  /** The bus itself. */
  readonly bus: BusAccess;
  readonly proxies: Readonly<Record<Path, Proxy>>;
  /** Where the processes of sessions write what they did, and read what they are to do. */
  readonly witness: string;
  processes(): readonly RunningProcess[];
  /** Takes away what nats-server has stored. */
  wipeStreams(): void;
  /** Every gateway takes work and sees every replica. */
  ready(signal: AbortSignal): Promise<void>;
}

/** Starts the cluster of `make cluster` from this process, with a proxy wherever an answer can be lost, and a witness in sessions. */
export async function startChaosCluster(dir: string, stack: AsyncDisposableStack): Promise<ChaosCluster> {
  const data = join(dir, 'data');
  const witness = join(dir, 'witness');
  for (const one of [data, witness]) mkdirSync(one, { recursive: true, mode: 0o700 });
  endWithRig(data, stack);
  const config = join(dir, 'config.yaml');
  writeFileSync(config, JSON.stringify(CONFIG)); // which is YAML too
  const proxies: Partial<Record<Path, Proxy>> = {};
  const place = async (path: Path, url: URL): Promise<string> => {
    const proxy = stack.use(await openProxy({ host: url.hostname, port: Number(url.port) }));
    proxies[path] = proxy;
    url.port = String(proxy.port);
    return url.href;
  };
  let [store, bus] = ['', ''];
  const { token, run } = await startCluster(environment(data, config, witness), {
    stack,
    signal: new AbortController().signal,
    say: () => undefined,
    longestWaitMs: LONGEST_WAIT_MS,
    async between(servers) {
      [store, bus] = [servers.store, servers.bus];
      const database = new URL(store);
      // A replica set would tell its own address, and nobody would come by here any more.
      if (database.searchParams.has('replicaSet')) database.searchParams.set('directConnection', 'true');
      return { ...servers, store: await place('store', database), bus: await place('bus', new URL(servers.bus)) };
    },
  });
  const url = (await place('edge', new URL(run.url))).replace(/\/$/, '');
  const processes = (): readonly RunningProcess[] => readRunFile(data)?.processes ?? [];
  const started = processes();
  const gateways = started.flatMap(({ service, ports }) => (service === 'gateway' ? [`http://127.0.0.1:${ports['http']}`] : []));
  const replicas = started.flatMap(({ replica, ports: { health, metrics } }) =>
    health === undefined ? [] : [{ name: replica, url: `http://127.0.0.1:${metrics}` }],
  );
  return {
    url,
    token,
    store,
    bus: { url: bus, password: openKeys(join(data, 'cluster/keys'))(natsKey('gateway')) },
    proxies: proxies as Record<Path, Proxy>,
    witness,
    processes,
    wipeStreams: () => rmSync(join(data, 'cluster/nats'), { recursive: true, force: true }),
    ready: (signal) => awaitReady({ gateways, replicas, token, signal, say: () => undefined }),
  };
}

/** What runs in a directory ends with this process, however that ends; it is told by the end of its input. */
function endWithRig(data: string, stack: AsyncDisposableStack): void {
  const guard = spawn(process.execPath, [GUARD, data], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  guard.unref();
  (guard.stdin as Socket).unref();
  stack.defer(() => void guard.kill('SIGKILL'));
}

function environment(data: string, config: string, witness: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? data,
    SWITCHYARD_DATA: data,
    SWITCHYARD_PORT: '0',
    SWITCHYARD_CONFIG: config,
    SWITCHYARD_DEV_TOOLS: 'on',
    NODE_OPTIONS: `--import=${PRELOAD} --disable-warning=ExperimentalWarning`,
    CHAOS_WITNESS: witness,
  };
}
