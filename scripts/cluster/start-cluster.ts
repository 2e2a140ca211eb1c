import { appendFileSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { RunFile } from '@switchyard/contracts';
import { claimDataDirectory, keepToken, leaveNote, openRunFile, readRunFile, readToken } from '@switchyard/launcher';
import { mintToken } from '@switchyard/security';
import { openSettings, readEnvironment, StartError, type ConfigurationSource, type Variables } from '@switchyard/service-kit';
import { awaitReady } from './await-ready.ts';
import { openCrew, type Crew } from './crew.ts';
import { openKeys } from './keys.ts';
import { endLeftovers, findLeftovers } from './leftovers.ts';
import { listenForClients } from './listen.ts';
import { openPorts } from './ports.ts';
import { startServers } from './servers.ts';
import { LAUNCHER, serviceMembers, type Servers } from './services.ts';

const REPLICAS = 2;
/** Added to the shutdown timeout of a process before it is killed. */
const EXTRA_GRACE_MS = 2_000;
/** Variables that name external servers. The launcher starts its own and rejects them. */
const NOT_HERE = ['SWITCHYARD_BUS', 'SWITCHYARD_STORE', 'SWITCHYARD_CACHE', 'SWITCHYARD_BLOBS', 'SWITCHYARD_REPLICA'];

export interface Starting {
  /** Receives everything that must be disposed of at the end, in reverse order. */
  stack: AsyncDisposableStack;
  signal: AbortSignal;
  /** Prints a progress line. */
  say: (line: string) => void;
  /** Replaces the server addresses that the services get, for example by those of proxies. */
  between?: (servers: Servers) => Promise<Servers>;
  /** Longest delay before a process that keeps ending is restarted. */
  longestWaitMs?: number;
  /** Number of gateways; default 2. */
  gateways?: number;
}

/** A running cluster. */
export interface Cluster {
  data: string;
  token: string;
  run: RunFile;
  settings: ConfigurationSource;
}

/** Starts the servers, then all services. Resolves when every replica is ready. */
export async function startCluster(env: Variables, starting: Starting): Promise<Cluster> {
  const {
    stack,
    signal,
    say: sayAloud,
    between = async (servers) => servers,
    longestWaitMs,
    gateways: requestedCount = REPLICAS,
  } = starting;
  const environment = await readEnvironment(env);
  const settings = stack.use(await openSettings(environment));
  for (const name of NOT_HERE.filter((one) => env[one] || env[`${one}_FILE`]))
    throw new StartError(
      `${name} is set, but a cluster on one machine starts its own servers. Unset it, or start the services one by one.`,
    );
  const data = resolve(environment.data);
  const dir = join(data, 'cluster');
  const graceMs = settings.current.daemon.shutdownTimeoutMs + EXTRA_GRACE_MS;
  stack.use(claimDataDirectory(data));
  leaveNote(environment);
  mkdirSync(join(dir, 'logs'), { recursive: true, mode: 0o700 });
  const log = join(dir, 'logs', `${LAUNCHER}.log`);
  const sendMessage = (line: string): void => {
    sayAloud(line);
    appendFileSync(log, `${new Date().toISOString()} ${line}\n`, { mode: 0o600 });
  };
  await endWhatIsLeft(data, graceMs, sendMessage);
  const token = environment.token ?? readToken(data) ?? mintToken('pat').token;
  keepToken(data, token);

  const { host, port } = settings.current.gateway;
  const ports = stack.use(await openPorts());
  const gatewayPorts: number[] = [];
  for (let at = 1; at <= requestedCount; at++) gatewayPorts.push(await ports.one(port === 0 ? undefined : port + at));
  const gateways = gatewayPorts.map((one) => getAddress(host, one));
  const balancer = stack.use(await listenForClients({ host, port, targets: gateways }));
  const runFile = stack.use(openRunFile(data));
  const launcher = { service: LAUNCHER, replica: LAUNCHER, pid: process.pid, ports: { http: balancer.port }, log };
  const url = getAddress(host, balancer.port);
  const now = (): RunFile => ({ url, processes: [...crew.processes(), launcher] });
  const crew: Crew = openCrew({ logs: join(dir, 'logs'), graceMs, longestWaitMs, onChange: () => runFile.write(now()), say: sendMessage });

  const givenUp = new AbortController();
  const goingOn = AbortSignal.any([signal, givenUp.signal]);
  const working = async (): Promise<void> => {
    const key = openKeys(join(dir, 'keys'));
    const servers = await between(await startServers({ dir, key, ports, crew, stack, signal: goingOn, ending: signal, say: sendMessage }));
    goingOn.throwIfAborted();
    const members = await serviceMembers({
      ...servers,
      dir,
      key,
      token,
      host,
      gatewayPorts,
      ports,
      url,
      replicas: REPLICAS,
      variables: env,
      settings,
    });
    stack.use(crew.start(members.filter(({ service }) => service !== 'gateway')));
    stack.use(crew.start(members.filter(({ service }) => service === 'gateway')));
    stack.defer(() => balancer.close());
    const replicas = members.map(({ replica, ports }) => ({ name: replica, url: `http://127.0.0.1:${ports['metrics']}` }));
    await awaitReady({ gateways, replicas, token, signal: goingOn, say: (missing) => sendMessage(`waiting for ${missing}`) });
  };
  try {
    await Promise.race([working(), crew.broken, whenAborted(signal)]);
  } finally {
    givenUp.abort();
  }
  crew.complete();
  const run = now();
  runFile.write(run);
  return { data: environment.data, token, run, settings };
}

async function whenAborted(signal: AbortSignal): Promise<never> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  return aborted.promise;
}

/** Ends the processes of a launcher that was killed. */
async function endWhatIsLeft(data: string, graceMs: number, say: Starting['say']): Promise<void> {
  const remainingItems = await findLeftovers(readRunFile(data)?.processes ?? []);
  if (remainingItems.length === 0) return;
  say(`stopping processes of an earlier start: ${remainingItems.map(({ replica, pid }) => `${replica} (process ${pid})`).join(', ')}`);
  await endLeftovers(remainingItems, graceMs);
}

/** The address at which this machine reaches a listener. */
function getAddress(host: string, port: number): string {
  const known = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host;
  return `http://${known.includes(':') && !known.startsWith('[') ? `[${known}]` : known}:${port}`;
}
