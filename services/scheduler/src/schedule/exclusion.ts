import { WEEKDAYS, type ExclusionWindow } from '@switchyard/contracts';
import { formatLocalTime } from './local-time.ts';
import type { Schedule } from './schedule.ts';

const DAY_MS = 86_400_000;

export interface ExcludedSchedule {
  schedule: Schedule;
  exclude?: readonly ExclusionWindow[] | undefined;
}

/** Returns the window that contains an instant, by the clock of the schedule's zone; undefined if there is none. */
export function findExclusion({ schedule, exclude = [] }: ExcludedSchedule, atMs: number): ExclusionWindow | undefined {
  if (exclude.length === 0) return undefined;
  const local = formatLocalTime(atMs, schedule.kind === 'cron' ? schedule.tz : 'UTC');
  const time = local.slice(11, 16);
  const today = Date.parse(`${local.slice(0, 10)}T00:00:00Z`);
  return exclude.find(({ start, end, days }) => {
    const beginsOn = (dayMs: number): boolean => days === undefined || days.some((day) => day === WEEKDAYS[new Date(dayMs).getUTCDay()]);
    if (start < end) return time >= start && time < end && beginsOn(today);
    return (time >= start && beginsOn(today)) || (time < end && beginsOn(today - DAY_MS));
  });
}

export function describeExclusion({ start, end, days }: ExclusionWindow): string {
  return `within the exclusion window ${start} to ${end}${days === undefined ? '' : ` of ${days.join(', ')}`}`;
}
