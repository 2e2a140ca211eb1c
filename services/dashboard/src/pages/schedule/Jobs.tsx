import type { CallResult } from '@switchyard/client';
import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatDuration, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';

type Job = CallResult<'cron.list'>['jobs'][number];

/** All jobs with their next run. */
export function Jobs() {
  const jobs = useCall('cron.list', {}, ['scheduler:job_started', 'scheduler:job_completed', 'scheduler:job_suspended']);
  const navigate = useNavigate();
  const select = useCallback(({ name, agentId = '' }: Job) => navigate({ to: '.', search: { job: name, agent: agentId } }), [navigate]);
  return (
    <Loaded query={jobs}>
      {({ jobs: rows }) => (
        <DataTable
          label="jobs"
          columns={['name', 'agent', 'schedule', 'next run', 'last run', 'state']}
          rows={rows.map((job) => ({
            job,
            name: job.name,
            agent: job.agentId,
            schedule: describeSchedule(job),
            'next run': formatTime(job.nextRunAtMs ?? undefined),
            'last run': formatTime(job.lastRunAtMs),
            state: describeState(job),
          }))}
          actions={({ job }) => (
            <button type="button" onClick={() => void select(job as Job)}>
              Details
            </button>
          )}
        />
      )}
    </Loaded>
  );
}

function describeSchedule({ expr, tz, everyMs, at }: Job): string {
  if (expr !== undefined) return tz === undefined ? expr : `${expr} (${tz})`;
  return everyMs === undefined ? `once at ${formatTime(at)}` : `every ${formatDuration(everyMs)}`;
}

function describeState({ enabled, pausedReason, consecutiveErrors = 0, lastError }: Job): string {
  if (!enabled) return `paused${pausedReason === undefined ? '' : `: ${pausedReason}`}`;
  return consecutiveErrors > 0 ? `${consecutiveErrors} errors in a row: ${lastError ?? ''}` : 'enabled';
}
