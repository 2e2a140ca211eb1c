/** Returns an instant as ISO 8601 with the offset that is in force in the zone at that time. */
export function formatLocalTime(atMs: number, timeZone: string): string {
  const offsetMs = readOffsetMs(atMs, timeZone);
  const local = new Date(atMs + offsetMs).toISOString().slice(0, 19);
  const minutes = Math.round(Math.abs(offsetMs) / 60_000);
  const digits = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
  return `${local}${offsetMs < 0 ? '-' : '+'}${digits}`;
}

/** Compares the local time of the zone with UTC, in whole seconds. */
function readOffsetMs(atMs: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const parts = new Map(format.formatToParts(new Date(atMs)).map(({ type, value }) => [type, Number(value)]));
  const read = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const local = Date.UTC(read('year'), read('month') - 1, read('day'), read('hour'), read('minute'), read('second'));
  return local - Math.floor(atMs / 1_000) * 1_000;
}
