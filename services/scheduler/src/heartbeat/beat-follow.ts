import type { Bus } from '@switchyard/bus';
import { MAX } from '@switchyard/contracts';
import type { AgentDirectory, Clock, Settings } from '@switchyard/service-kit';
import { createHeartbeatPrincipal } from './beat-order.ts';
import { syncBeats, type BeatSyncDeps } from './beat-sync.ts';

/** Changes and wake-ups within this time cost one pass. */
const DELAY_MS = 100;
const RETRY_MS = 5_000;

export interface BeatFollowDeps extends Omit<BeatSyncDeps, 'agents' | 'settings'> {
  agents: AgentDirectory;
  settings: Settings<'scheduler'>;
  bus: Bus;
  clock: Pick<Clock, 'after'>;
  log: { warn(fields: object, message: string): void };
}

export interface FollowedBeats extends Disposable {
  /** Looks for beats whose turns have ended. */
  sweep(): void;
}

/** Keeps the beats in line with agents and settings, and wakes those whose turns have ended. A lost wake-up only delays a beat. */
export function followBeats(deps: BeatFollowDeps): FollowedBeats {
  const { agents, settings } = deps;
  const sync = createPass(deps, () => syncBeats({ ...deps, settings: () => settings.current.scheduler }));
  const sweep = createPass(deps, () => wakeEndedBeats(deps));
  const stops = [agents.onChange(() => sync.start()), settings.onChange(() => sync.start())];
  sync.start();
  return {
    sweep: () => sweep.start(),
    [Symbol.dispose]() {
      for (const stop of stops) stop();
      sync.stop();
      sweep.stop();
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

async function wakeEndedBeats({ beats, beatWork, bus }: BeatFollowDeps): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await beats.system().find({ turnPending: true }, { limit: MAX.few, ...(cursor === undefined ? {} : { cursor }) });
    for (const [tenant, pending] of Map.groupBy(page.items, (beat) => beat.tenant)) {
      const turnIds = pending.flatMap(({ turnId }) => turnId ?? []);
      if (turnIds.length === 0) continue;
      const { turns } = await bus.as(createHeartbeatPrincipal(tenant)).call('turns.ends', { turnIds });
      const open = new Set(turns.filter(({ state }) => state === 'queued' || state === 'running').map(({ turnId }) => turnId));
      for (const { agentId, turnId } of pending)
        if (turnId !== undefined && !open.has(turnId)) await beatWork.wake(tenant, agentId, {}, { turnPending: true });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  await beatWork.poll();
}
