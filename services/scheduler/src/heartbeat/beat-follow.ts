import type { AgentDirectory, Clock, Settings } from '@switchyard/service-kit';
import { syncBeats, type BeatSyncDeps } from './beat-sync.ts';

/** Changes within this time cost one pass. */
const DELAY_MS = 100;
const RETRY_MS = 5_000;

export interface BeatFollowDeps extends Omit<BeatSyncDeps, 'agents' | 'settings'> {
  agents: AgentDirectory;
  settings: Settings<'scheduler'>;
  clock: Pick<Clock, 'after'>;
  log: { warn(fields: object, message: string): void };
}

/** Keeps the beats in line with agents and settings. */
export function followBeats(deps: BeatFollowDeps): Disposable {
  const { agents, settings } = deps;
  const sync = createPass(deps, () => syncBeats({ ...deps, settings: () => settings.current.scheduler }));
  const stops = [agents.onChange(() => sync.start()), settings.onChange(() => sync.start())];
  sync.start();
  return {
    [Symbol.dispose]() {
      for (const stop of stops) stop();
      sync.stop();
    },
  };
}

interface Pass {
  /** Runs after a short delay; requests until then share the run. */
  start(delayMs?: number): void;
  stop(): void;
}

/** A pass that fails is repeated. */
function createPass({ clock, log }: Pick<BeatFollowDeps, 'clock' | 'log'>, run: () => Promise<void>): Pass {
  let cancelTimer: (() => void) | undefined;
  let [closed, running] = [false, Promise.resolve()];
  const onFailure = (err: unknown): void => {
    if (closed) return;
    log.warn({ err, errorKind: 'dependency', hint: 'repeated in a moment' }, 'failed to update heartbeats');
    start(RETRY_MS);
  };
  function start(delayMs = DELAY_MS): void {
    if (closed) return;
    cancelTimer ??= clock.after(delayMs, () => {
      cancelTimer = undefined;
      running = running.then(run).catch(onFailure);
    });
  }
  return {
    start,
    stop() {
      closed = true;
      cancelTimer?.();
    },
  };
}
