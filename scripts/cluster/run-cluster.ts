import { SERVICES, type ServiceName } from '@switchyard/contracts';
import { banner, commandHere, describeProvider } from '@switchyard/launcher';
import { startSentence, type Variables } from '@switchyard/service-kit';
import { startCluster, type Cluster } from './start-cluster.ts';

const VERSION = '0.1.0';
const AGAIN = 'make cluster';
/** Shells and `timeout` signal a process and then its group. Signals within this time count as one. */
const ONE_WISH_MS = 250;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs every service twice, with its servers, until a signal arrives. Then drains the processes, dependents first, and ends them all.
 * A second signal skips the drain. Prints the reason and exits with 1 when the cluster cannot start.
 */
export async function runCluster(env: Variables): Promise<void> {
  const began = performance.now();
  const ending = endOnSignal();
  const stack = new AsyncDisposableStack();
  const sendMessage = (line: string): boolean => process.stderr.write(`switchyard ${line}\n`);
  try {
    const cluster = await startCluster(env, { stack, signal: ending, say: sendMessage });
    process.stdout.write(await describe(cluster, (performance.now() - began) / 1_000));
    await aborted(ending);
  } catch (error) {
    if (!ending.aborted) {
      process.stderr.write(`the cluster cannot start: ${startSentence(error)}\n`);
      process.exitCode = 1;
    }
  }
  if (ending.aborted) sendMessage('finishes running work; press Ctrl-C again to exit at once');
  await stack.disposeAsync();
}

/** Aborts at the first signal. At the second one the launcher exits and kills its children. */
function endOnSignal(): AbortSignal {
  const ending = new AbortController();
  let receivedCount = 0;
  for (const name of SIGNALS)
    process.on(name, () => {
      if (ending.signal.aborted && performance.now() - receivedCount > ONE_WISH_MS) process.exit(1);
      receivedCount = performance.now();
      ending.abort();
    });
  return ending.signal;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}

async function describe({ data, token, run, settings }: Cluster, seconds: number): Promise<string> {
  const counts = Map.groupBy(
    run.processes.filter(({ service }) => SERVICES.includes(service as ServiceName)),
    ({ service }) => service,
  );
  const nats = run.processes.find(({ service }) => service === 'nats');
  return banner({
    version: VERSION,
    how: `a cluster of ${run.processes.length} processes on this machine`,
    again: AGAIN,
    url: run.url,
    bus: `nats://127.0.0.1:${nats?.ports['nats'] ?? ''}`,
    data,
    services: [...counts].map(([service, replicas]) => `${service} ×${replicas.length}`),
    seconds,
    metrics: undefined,
    provider: describeProvider(await visibleModels(run.url, token), AGAIN),
    token,
    terminal: process.stdout.isTTY,
    warning: undefined,
    processes: run.processes,
    notInForce: settings.notInForce(),
    command: commandHere(data),
  });
}

async function visibleModels(url: string, token: string): Promise<{ id: string; ownedBy: string }[]> {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
  const { data } = (await response.json()) as { data: { id: string; owned_by: string }[] };
  return data.map(({ id, owned_by: ownedBy }) => ({ id, ownedBy }));
}
