import { Cron } from 'croner';
import { z } from 'zod';

const instant = z.int().nonnegative();

/** A schedule with its zone and its anchor, so that later changes of the settings do not move it. */
export const Schedule = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('cron'), expr: z.string(), tz: z.string() }),
  z.object({ kind: z.literal('interval'), everyMs: z.int().positive(), anchorMs: instant }),
  z.object({ kind: z.literal('once'), atMs: instant }),
]);
export type Schedule = z.infer<typeof Schedule>;

const SECOND_MS = 1_000;

/** Returns the first fire after an instant; null if there is none. */
export function findNextFire(schedule: Schedule, afterMs: number): number | null {
  if (schedule.kind === 'cron') return createCron(schedule.expr, schedule.tz).nextRun(new Date(afterMs))?.getTime() ?? null;
  if (schedule.kind === 'once') return schedule.atMs > afterMs ? schedule.atMs : null;
  const { everyMs, anchorMs } = schedule;
  return anchorMs + Math.max(Math.floor((afterMs - anchorMs) / everyMs) + 1, 1) * everyMs;
}

/** Returns the last fire at or before an instant; null if there is none. */
export function findLastFire(schedule: Schedule, untilMs: number): number | null {
  if (schedule.kind === 'cron') {
    // Fires are whole seconds, and the library excludes the reference itself.
    const reference = (Math.floor(untilMs / SECOND_MS) + 1) * SECOND_MS;
    return createCron(schedule.expr, schedule.tz).previousRuns(1, new Date(reference))[0]?.getTime() ?? null;
  }
  if (schedule.kind === 'once') return schedule.atMs <= untilMs ? schedule.atMs : null;
  const { everyMs, anchorMs } = schedule;
  const periods = Math.floor((untilMs - anchorMs) / everyMs);
  return periods < 1 ? null : anchorMs + periods * everyMs;
}

/**
 * Parses an expression of five fields, or six with seconds first. Expressions of fixed times fire once on the days on which the clock
 * changes; others fire whenever their time is shown. Throws for an invalid expression.
 */
export function createCron(expr: string, timezone: string): Cron {
  return new Cron(expr, { timezone, mode: '5-or-6-parts', fixedTimeRule: 'no-wildcard', paused: true });
}
