const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const PROBE_MS = DAY_MS / 2;

/** Zones with different rules, offsets and histories. */
export const ZONES = [
  'UTC',
  'Europe/Oslo',
  'Europe/London',
  'Europe/Dublin',
  'Europe/Lisbon',
  'Europe/Athens',
  'Europe/Moscow',
  'Europe/Istanbul',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Africa/Lagos',
  'Asia/Amman',
  'Asia/Beirut',
  'Asia/Gaza',
  'Asia/Jerusalem',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Pyongyang',
  'Asia/Tehran',
  'Asia/Tokyo',
  'America/New_York',
  'America/Los_Angeles',
  'America/Havana',
  'America/Sao_Paulo',
  'America/Santiago',
  'America/St_Johns',
  'America/Caracas',
  'Australia/Lord_Howe',
  'Australia/Sydney',
  'Pacific/Apia',
] as const;

export interface Transition {
  at: number;
  beforeMs: number;
  afterMs: number;
}

/** Returns the changes of the offset of a zone between two instants. */
export function listTransitions(timeZone: string, fromMs: number, untilMs: number): Transition[] {
  const getOffset = createOffsets(timeZone);
  const transitions: Transition[] = [];
  for (let at = fromMs; at < untilMs; at += PROBE_MS) {
    const [beforeMs, afterMs] = [getOffset(at), getOffset(at + PROBE_MS)];
    if (beforeMs === afterMs) continue;
    let [low, high] = [at, at + PROBE_MS];
    while (high - low > MINUTE_MS) {
      const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS;
      if (getOffset(middle) === beforeMs) low = middle;
      else high = middle;
    }
    transitions.push({ at: high, beforeMs, afterMs });
  }
  return transitions;
}

/** Reads offsets from the runtime, independently of the code under test. */
function createOffsets(timeZone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  return (atMs) => {
    const name = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours = '0', minutes = '0'] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  };
}

export interface TimesOfDay {
  minutes: readonly number[];
  hours: readonly number[];
  /** Whether minute or hour is a wildcard, so that the expression fires whenever its time is shown. */
  isWildcard: boolean;
}

/** Returns the fires around a transition, found by looking at every minute. */
export function listFires({ minutes, hours, isWildcard }: TimesOfDay, { at, beforeMs, afterMs }: Transition, windowMs: number): number[] {
  const matches = (localMs: number): boolean => {
    const local = new Date(localMs);
    return minutes.includes(local.getUTCMinutes()) && hours.includes(local.getUTCHours());
  };
  const fires = new Set<number>();
  const shown = new Set<number>();
  for (let utc = at - windowMs; utc < at + windowMs; utc += MINUTE_MS) {
    const local = utc + (utc < at ? beforeMs : afterMs);
    // A fixed time that is shown twice fires at the first time.
    if (matches(local) && (isWildcard || !shown.has(local))) fires.add(utc);
    shown.add(local);
  }
  // A fixed time that is not shown fires at the first instant after the gap. A date that does not exist, as in Samoa in 2011, has no fires.
  const isShort = afterMs - beforeMs < DAY_MS;
  for (let local = at + beforeMs; !isWildcard && isShort && local < at + afterMs; local += MINUTE_MS) if (matches(local)) fires.add(at);
  return [...fires].toSorted((one, other) => one - other);
}
