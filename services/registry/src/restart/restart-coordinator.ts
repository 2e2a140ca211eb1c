import type { BucketEntry, Bus } from '@switchyard/bus';
import { RESTART_BUCKET, RESTART_KEY, RollingRestart } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { ConfigurationSource, WatchedReplicas } from '@switchyard/service-kit';
import type { Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { groupByProcess } from './live-processes.ts';
import { nextStep, planRestart } from './rolling-restart.ts';

const POLL_INTERVAL_MS = 250;
/** Time for the supervisor to start a process again and for the process to become ready. */
const START_TIMEOUT_MS = 90_000;
/** Load balancers commonly check once a second. */
const MIN_SETTLE_MS = 1_000;

interface RestartCoordinatorDeps {
  bus: Bus;
  replicas: Pick<WatchedReplicas, 'all' | 'onReport'>;
  configuration: Pick<ConfigurationSource, 'current'>;
  store: Pick<Store, 'now'>;
  log: Logger;
  /** Maximum duration of one step. */
  stepTimeoutMs?: number;
}

/** Rolling restarts of all processes, driven by every replica of the registry. */
export interface RestartCoordinator extends AsyncDisposable {
  /** Starts a restart, or returns the running one. */
  begin(by: string): Promise<RollingRestart>;
  /** The running or the last restart. */
  last(): RollingRestart | undefined;
}

/** Each step is one write with a revision check: one replica performs it, and any replica can continue after a crash. */
export async function openRestartCoordinator(deps: RestartCoordinatorDeps): Promise<RestartCoordinator> {
  const { bus, replicas, configuration, store, log } = deps;
  const bucket = await bus.kv(RESTART_BUCKET);
  let last: { restart: RollingRestart; revision: number } | undefined;
  let stepping: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function onEntry(entry: BucketEntry): void {
    if (entry.key !== RESTART_KEY) return;
    const restart = parseEntry(entry);
    last = restart && { restart, revision: entry.revision };
    clearInterval(timer);
    if (restart?.state !== 'running') return;
    timer = setInterval(scheduleStep, POLL_INTERVAL_MS).unref();
    scheduleStep();
  }

  function scheduleStep(): void {
    stepping ??= step()
      .catch((err: unknown) => log.warn({ err }, 'failed to continue the restart; retrying'))
      .finally(() => (stepping = undefined));
  }

  async function step(): Promise<void> {
    if (last === undefined) return;
    const { restart, revision } = last;
    const { daemon, gateway } = configuration.current;
    const next = nextStep(restart, {
      live: groupByProcess(replicas.all()),
      now: store.now(),
      stepTimeoutMs: deps.stepTimeoutMs ?? daemon.shutdownTimeoutMs + START_TIMEOUT_MS,
      settleMs: Math.max(gateway.drainDelayMs, MIN_SETTLE_MS),
    });
    if (next === undefined || (await write(next, revision)) === undefined) return;
    logStep(log, next);
  }

  const write = (restart: RollingRestart, revision: number): Promise<number | undefined> =>
    bucket.update(RESTART_KEY, Buffer.from(JSON.stringify(restart)), revision);

  const watch = await bucket.watch(onEntry);
  replicas.onReport(() => last?.restart.state === 'running' && scheduleStep());
  return {
    async begin(by) {
      for (;;) {
        const entry = await bucket.get(RESTART_KEY);
        const running = entry && parseEntry(entry);
        if (running?.state === 'running') return running;
        const restart = planRestart(groupByProcess(replicas.all()), { id: mintId('restart'), by, now: store.now() });
        if ((await write(restart, entry?.revision ?? 0)) !== undefined) return restart;
      }
    },
    last: () => last?.restart,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      watch.stop();
      await stepping;
    },
  };
}

function parseEntry({ value }: BucketEntry): RollingRestart | undefined {
  if (value === undefined) return undefined;
  try {
    return RollingRestart.parse(JSON.parse(Buffer.from(value).toString()));
  } catch {
    return undefined;
  }
}

function logStep(log: Logger, { id, state, turn, waiting, restarted, reason }: RollingRestart): void {
  const remaining = waiting.flatMap(({ replicas }) => replicas);
  if (state === 'done') log.info({ restart: id, restarted }, 'all processes were restarted');
  else if (state === 'stopped')
    log.error(
      { restart: id, reason, restarted, remaining, errorKind: 'dependency', hint: 'check the supervisor of the process' },
      'the restart was stopped',
    );
  else if (turn !== undefined && turn.backAt === undefined)
    log.info({ restart: id, replicas: turn.replicas }, 'a process was asked to stop');
}
