import type { OutboxEvent } from '@switchyard/store';
import { BACKOFF_MS } from '../runs/run-end.ts';
import type { BeatDocument } from './beat-document.ts';
import type { HeartbeatSettings } from './heartbeat-settings.ts';

const REASON_CHARS = 2_048;
/** Errors that do not pass by themselves, by their text. */
const PERMANENT = /not found|does not exist|not enabled|not configured|invalid|validation|unauthorized|forbidden/i;

interface BeatError {
  set: Partial<BeatDocument>;
  emit: OutboxEvent[];
}

/**
 * Counts an error. Permanent errors raise an alert at once, others after `alertThreshold` in a row. Alerts are at least `alertCooldownMs`
 * apart.
 */
export function countBeatError(beat: BeatDocument, message: string, settings: HeartbeatSettings, now: number): BeatError {
  const { agentId, lastAlertAt } = beat;
  const reason = message.slice(0, REASON_CHARS);
  const consecutiveErrors = beat.consecutiveErrors + 1;
  const classification = PERMANENT.test(message) ? 'permanent' : 'transient';
  const backoffMs = BACKOFF_MS[consecutiveErrors - 1] ?? BACKOFF_MS[4];
  const isDue = classification === 'permanent' || consecutiveErrors >= settings.alertThreshold;
  const alerts = isDue && (lastAlertAt === undefined || now - lastAlertAt >= settings.alertCooldownMs);
  const payload = { agentId, consecutiveErrors, classification, reason, backoffMs, timestamp: now };
  return {
    set: {
      consecutiveErrors,
      lastErrorKind: classification,
      backoffUntil: now + backoffMs,
      lastOutcome: 'error',
      lastReason: reason,
      ...(alerts ? { lastAlertAt: now } : {}),
    },
    emit: alerts ? [{ name: 'scheduler:heartbeat_alert', payload }] : [],
  };
}
