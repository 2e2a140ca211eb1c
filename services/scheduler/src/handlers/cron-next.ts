import type { Handler } from '@switchyard/bus';
import type { Input, Principal } from '@switchyard/contracts';
import { findJob } from '../jobs/job-lookup.ts';
import { formatLocalTime } from '../schedule/local-time.ts';
import { parseSchedule } from '../schedule/parse-schedule.ts';
import { findNextFire, type Schedule } from '../schedule/schedule.ts';
import type { HandlerDeps } from './handler-deps.ts';

type NextParams = Input<'cron.next'>;

/** Returns the next fires of a job, also of a paused one, or of a schedule that is not stored. */
export function cronNext(deps: HandlerDeps): Handler<'cron.next'> {
  return async (params, { principal }) => {
    const schedule = await readSchedule(deps, principal, params);
    const timeZone = schedule.kind === 'cron' ? schedule.tz : deps.limits(principal.tenant, params.agentId).defaultTimezone || 'UTC';
    const fires: { atMs: number; at: string }[] = [];
    for (let after = deps.now(); fires.length < params.count;) {
      const atMs = findNextFire(schedule, after);
      if (atMs === null) break;
      fires.push({ atMs, at: formatLocalTime(atMs, timeZone) });
      after = atMs;
    }
    return { fires };
  };
}

async function readSchedule({ jobs, limits, now }: HandlerDeps, principal: Principal, params: NextParams): Promise<Schedule> {
  const { schedule, name = '', agentId } = params;
  if (schedule === undefined) return (await findJob(jobs, principal, { name, agentId })).schedule;
  const { defaultTimezone } = limits(principal.tenant, agentId);
  return parseSchedule(schedule, { defaultTimezone, now: now() });
}
