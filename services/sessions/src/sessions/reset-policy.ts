import type { AgentConfig } from '@switchyard/contracts';
import type { SessionDocument } from '../model/session-document.ts';
import { getChatKind } from '../model/session-key.ts';

type ResetPolicy = NonNullable<AgentConfig['session']['resetPolicy']>;
type Policy = Pick<ResetPolicy, 'mode' | 'dailyResetHour' | 'dailyResetTimezone' | 'idleTimeoutMs'>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Reason of an automatic reset. */
export type Expiry = 'auto-reset:daily' | 'auto-reset:idle' | 'auto-reset:daily+idle';

/**
 * Returns whether a conversation had expired when a turn was accepted: the reset hour has passed since the last turn ended, or the session
 * was idle for too long. Empty sessions do not expire.
 */
export function getExpiry(policy: ResetPolicy | undefined, session: SessionDocument, acceptedAt: number): Expiry | undefined {
  if (!policy || !canExpire(policy, session)) return undefined;
  const { mode, dailyResetHour, dailyResetTimezone, idleTimeoutMs } = policyFor(policy, session);
  const daily = mode === 'daily' || mode === 'hybrid';
  const idle = mode === 'idle' || mode === 'hybrid';
  const getDay = (at: number): number => dayNumber(at, dailyResetHour, dailyResetTimezone);
  const isDue = {
    daily: daily && getDay(acceptedAt) > getDay(session.updatedAt),
    idle: idle && acceptedAt - session.updatedAt >= idleTimeoutMs,
  };
  if (isDue.daily && isDue.idle) return 'auto-reset:daily+idle';
  if (isDue.daily) return 'auto-reset:daily';
  return isDue.idle ? 'auto-reset:idle' : undefined;
}

/** Returns whether a session can expire without further messages. */
export function canExpire(policy: ResetPolicy, session: SessionDocument): boolean {
  return session.messageCount > 0 && session.kind !== 'sub-agent' && policyFor(policy, session).mode !== 'none';
}

/** Returns the policy for this kind of session. */
function policyFor({ perType: { dm, group, thread }, ...general }: ResetPolicy, session: SessionDocument): Policy {
  const own = { dm, group, thread }[getChatKind(session)];
  return {
    mode: own?.mode ?? general.mode,
    dailyResetHour: own?.dailyResetHour ?? general.dailyResetHour,
    dailyResetTimezone: own?.dailyResetTimezone ?? general.dailyResetTimezone,
    idleTimeoutMs: own?.idleTimeoutMs ?? general.idleTimeoutMs,
  };
}

/** Number of the day that contains a time, with days starting at an hour of a time zone. */
function dayNumber(at: number, hour: number, zone: string): number {
  return Math.floor((wallClock(at, zone) - hour * HOUR_MS) / DAY_MS);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Local time of a time zone, as if it were UTC. */
function wallClock(at: number, zone: string): number {
  const parts = new Map(
    formatFor(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0] = (['year', 'month', 'day', 'hour', 'minute'] as const).map((type) =>
    parts.get(type),
  );
  return Date.UTC(year, month - 1, day, hour, minute);
}

function formatFor(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  // An empty name means the system's time zone; an unknown name falls back to UTC.
  const timeZone = zone === '' ? {} : { timeZone: isZone(zone) ? zone : 'UTC' };
  const format = new Intl.DateTimeFormat('en-US', { ...FORMAT, ...timeZone });
  formats.set(zone, format);
  return format;
}

const FORMAT = { hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).format(0) !== '';
  } catch {
    return false;
  }
}
