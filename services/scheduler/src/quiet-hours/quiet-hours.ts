import type { Sections } from '@switchyard/contracts';

type QuietHours = Sections['scheduler']['quietHours'];

const TIME = /^([01]?\d|2[0-3]):([0-5]\d)$/;

/**
 * Returns whether the time lies in the quiet hours. `start` is inclusive and `end` exclusive, both by the clock of the zone; with a start
 * after the end they include midnight. Equal times, or times that are not HH:MM, are no quiet hours.
 */
export function isQuiet({ enabled, start, end, timezone }: Omit<QuietHours, 'criticalBypass'>, atMs: number): boolean {
  const [from, to] = [readMinute(start), readMinute(end)];
  if (!enabled || from === undefined || to === undefined) return false;
  const minute = getMinuteOfDay(atMs, timezone);
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
}

function readMinute(time: string): number | undefined {
  const [, hours, minutes] = TIME.exec(time) ?? [];
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** An empty zone is that of the machine. */
function getMinuteOfDay(atMs: number, timeZone: string): number {
  const zone = timeZone === '' ? {} : { timeZone };
  const format = new Intl.DateTimeFormat('en-US', { ...zone, hourCycle: 'h23', hour: 'numeric', minute: 'numeric' });
  const parts = new Map(format.formatToParts(new Date(atMs)).map(({ type, value }) => [type, Number(value)]));
  return (parts.get('hour') ?? 0) * 60 + (parts.get('minute') ?? 0);
}
