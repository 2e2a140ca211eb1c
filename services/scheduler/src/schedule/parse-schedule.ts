import { invalidParams, type CronSchedule, type ServiceError } from '@switchyard/contracts';
import { Cron } from 'croner';
import { createCron, findNextFire, type Schedule } from './schedule.ts';

const EXPRESSION_ERROR_PREFIX = /^CronPattern: /;
const MIN_INTERVAL_MS = 1_000;
const OFFSET = /(?:Z|[+-]\d{2}:?\d{2})$/i;

export interface ParseScheduleOptions {
  /** Zone of schedules without one; an empty text is UTC. */
  defaultTimezone: string;
  now: number;
}

/** Checks a schedule and fills in its zone and anchor. Throws INVALID_ARGUMENT for a schedule that never fires. */
export function parseSchedule(schedule: CronSchedule, { defaultTimezone, now }: ParseScheduleOptions): Schedule {
  if (schedule.kind === 'cron') return parseExpression(schedule.expr, schedule.tz ?? (defaultTimezone || 'UTC'), now);
  if (schedule.kind === 'interval') {
    const { everyMs } = schedule;
    if (everyMs < MIN_INTERVAL_MS) throw invalid('everyMs', `number of at least ${MIN_INTERVAL_MS}`, 'smaller number');
    return { kind: 'interval', everyMs, anchorMs: now };
  }
  const atMs = typeof schedule.at === 'number' ? schedule.at : readMoment(schedule.at, schedule.tz ?? 'UTC');
  if (atMs <= now) throw invalid('at', 'a time in the future', 'one in the past');
  return { kind: 'once', atMs };
}

function parseExpression(expr: string, tz: string, now: number): Schedule {
  const parsed: Schedule = { kind: 'cron', expr, tz };
  checkExpression(expr, tz);
  if (findNextFire(parsed, now) === null) throw invalid('expr', 'an expression that fires at some time', 'one that never fires');
  return parsed;
}

function checkExpression(expr: string, tz: string): void {
  try {
    createCron(expr, tz);
  } catch (error) {
    const fault = error instanceof Error ? error.message.replace(EXPRESSION_ERROR_PREFIX, '') : String(error);
    throw invalid('expr', 'a cron expression of five fields, or six with seconds first, such as 0 22 * * *', `an invalid one (${fault})`);
  }
}

/** A moment without an offset is read in the zone. */
function readMoment(at: string, timezone: string): number {
  if (OFFSET.test(at)) return Date.parse(at);
  const moment = new Cron(at, { timezone, paused: true }).getOnce();
  if (!moment) throw invalid('at', 'a date and time of ISO 8601', 'another text');
  return moment.getTime();
}

function invalid(field: string, expected: string, received: string): ServiceError {
  const path = `schedule.${field}`;
  return invalidParams([{ path, expected, received, message: `${path}: expected ${expected}, got ${received}` }]);
}
