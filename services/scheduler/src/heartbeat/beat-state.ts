import type { HeartbeatState } from '@switchyard/contracts';
import type { BeatDocument } from './beat-document.ts';
import { getNextBeat } from './beat-plan.ts';
import type { HeartbeatSettings } from './heartbeat-settings.ts';

/** Returns the state of an agent's heartbeat, also of one that has not started. */
export function toHeartbeatState(
  agentId: string,
  beat: BeatDocument | undefined,
  { enabled, intervalMs }: Pick<HeartbeatSettings, 'enabled' | 'intervalMs'>,
): HeartbeatState {
  return {
    agentId,
    enabled,
    intervalMs,
    lastRunMs: beat?.lastRunAt ?? null,
    nextDueMs: beat && enabled ? getNextBeat(beat, intervalMs) : null,
    consecutiveErrors: beat?.consecutiveErrors ?? 0,
    backoffUntilMs: beat?.backoffUntil ?? null,
    lastErrorKind: beat?.lastErrorKind ?? null,
    tickStartedAtMs: beat?.startedAt ?? null,
    lastAlertMs: beat?.lastAlertAt ?? null,
    ...(beat?.lastOutcome === undefined ? {} : { lastOutcome: beat.lastOutcome }),
    ...(beat?.lastReason === undefined ? {} : { lastReason: beat.lastReason }),
  };
}
