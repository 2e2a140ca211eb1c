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
/** Restart delay limit: processes that are killed repeatedly restart almost as fast as the first time. */
const LONGEST_WAIT_MS = 1_000;

/** More than a run of several hours uses. */
const budgets = { perHour: 1_000_000_000_000, perDay: 1_000_000_000_000 };

/** Rate limits are switched off: the run tests full queues. */
const CONFIG = {
  // Each question has its own answer, so that answers can be compared.
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

/** A cluster for fault injection. */
export interface ChaosCluster {
  /** Address for clients, through a proxy. */
  readonly url: string;
  readonly token: string;
  /** The database, without a proxy. */
  readonly store: string;
  /** The bus, without a proxy. */
  readonly bus: BusAccess;
  readonly proxies: Readonly<Record<Path, Proxy>>;
  /** Directory in which the sessions processes record their writes and read their orders. */
  readonly witness: string;
  processes(): readonly RunningProcess[];
  /** Deletes the store of nats-server. */
  wipeStreams(): void;
  /** Resolves when every gateway is ready and discovers every replica. */
  ready(signal: AbortSignal): Promise<void>;
}

/** Starts the cluster of `make cluster` from this process, with proxies that can drop responses and a recorder in sessions. */
export async function startChaosCluster(dir: string, stack: AsyncDisposableStack): Promise<ChaosCluster> {
  const data = join(dir, 'data');
  const witness = join(dir, 'witness');
  for (const one of [data, witness]) mkdirSync(one, { recursive: true, mode: 0o700 });
  endWithRig(data, stack);
  const config = join(dir, 'config.yaml');
  writeFileSync(config, JSON.stringify(CONFIG)); // JSON is valid YAML
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
      // A replica set would announce its own address, and clients would bypass the proxy.
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

/** Ends the cluster in a directory with this process: the guard notices the end of its standard input. */
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
