import { HOURS_PER_DAY } from '@switchyard/contracts';
import { findExclusion, type ExcludedSchedule } from './exclusion.ts';
import { createCron, type Schedule } from './schedule.ts';

export const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Fields of an expression that begins with seconds. */
const FIELDS_WITH_SECONDS = 6;

/** The fires of a schedule in one minute. */
interface MinuteFires {
  minuteMs: number;
  count: number;
}

/**
 * Counts the fires after an instant in each of 24 hours. The first hour begins at `fromMs`. Fires in exclusion windows are left out. The
 * cost depends on the minutes with a fire, so that a schedule that fires every second costs no more than one that fires every minute.
 */
export function countFiresPerHour(job: ExcludedSchedule, { fromMs, afterMs }: { fromMs: number; afterMs: number }): number[] {
  const hours = Array.from({ length: HOURS_PER_DAY }, () => 0);
  const untilMs = fromMs + HOURS_PER_DAY * HOUR_MS;
  if (afterMs >= untilMs) return hours;
  for (const { minuteMs, count } of listMinutes(job.schedule, afterMs, untilMs)) {
    if (findExclusion(job, Math.max(minuteMs, afterMs))) continue;
    const hour = Math.floor((Math.max(minuteMs, afterMs) - fromMs) / HOUR_MS);
    hours[hour] = (hours[hour] ?? 0) + count;
  }
  return hours;
}

/** Yields the minutes with fires that are after one instant and before another. */
function* listMinutes(schedule: Schedule, afterMs: number, untilMs: number): Generator<MinuteFires> {
  if (schedule.kind === 'cron') yield* listCronMinutes(schedule, afterMs, untilMs);
  else if (schedule.kind === 'interval') yield* listIntervalMinutes(schedule, afterMs, untilMs);
  else if (schedule.atMs > afterMs && schedule.atMs < untilMs) yield { minuteMs: toMinute(schedule.atMs), count: 1 };
}

function* listIntervalMinutes(
  { everyMs, anchorMs }: Extract<Schedule, { kind: 'interval' }>,
  afterMs: number,
  untilMs: number,
): Generator<MinuteFires> {
  /** The number of fires up to an instant. The anchor itself is no fire. */
  const countUntil = (atMs: number): number => Math.max(Math.floor((atMs - anchorMs) / everyMs), 0);
  for (let minuteMs = toMinute(afterMs); minuteMs < untilMs;) {
    const count = countUntil(minuteMs + MINUTE_MS - 1) - countUntil(Math.max(minuteMs - 1, afterMs));
    if (count > 0) yield { minuteMs, count };
    const nextMs = anchorMs + (countUntil(minuteMs + MINUTE_MS - 1) + 1) * everyMs;
    minuteMs = Math.max(toMinute(nextMs), minuteMs + MINUTE_MS);
  }
}

function* listCronMinutes({ expr, tz }: Extract<Schedule, { kind: 'cron' }>, afterMs: number, untilMs: number): Generator<MinuteFires> {
  const fields = expr.trim().split(/\s+/);
  const [seconds = '0', ...rest] = fields.length === FIELDS_WITH_SECONDS ? fields : ['0', ...fields];
  const offsets = listSeconds(seconds);
  const cron = createCron(fields.length === FIELDS_WITH_SECONDS ? ['0', ...rest].join(' ') : expr, tz);
  // The library excludes the reference itself. The current minute may still have fires.
  for (let minuteMs = toMinute(afterMs) - 1; ;) {
    const next = cron.nextRun(new Date(minuteMs))?.getTime();
    if (next === undefined || next >= untilMs) return;
    const count = offsets.filter((offsetMs) => next + offsetMs > afterMs).length;
    if (count > 0) yield { minuteMs: next, count };
    minuteMs = next;
  }
}

/** Returns the offsets within a minute that the field of the seconds matches, in milliseconds. */
function listSeconds(field: string): number[] {
  return createCron(`${field} * * * * *`, 'UTC')
    .nextRuns(MINUTE_MS / 1_000, new Date(MINUTE_MS - 1))
    .map((at) => at.getTime() - MINUTE_MS)
    .filter((offsetMs) => offsetMs < MINUTE_MS);
}

function toMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS;
}
