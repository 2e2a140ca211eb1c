import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Action } from '../../parts/Action.tsx';
import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatDuration, formatTime, formatUsd } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';

const SHOWN_RUNS = 100;

/** One job: its state, its next fires and its last runs. */
export function Job({ name, agentId }: { name: string; agentId: string | undefined }) {
  const one = { name, ...(agentId === undefined ? {} : { agentId }) };
  const status = useCall('cron.status', one, ['scheduler:job_completed', 'scheduler:job_suspended']);
  const fires = useCall('cron.next', { ...one, count: 5 }, ['scheduler:job_completed']);
  const runs = useCall('cron.runs', { ...one, limit: SHOWN_RUNS }, ['scheduler:job_started', 'scheduler:job_completed']);
  const cache = useQueryClient();
  const navigate = useNavigate();
  const refresh = () => cache.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('cron.') });
  return (
    <Section title={`Job ${name}`} needs={['cron.status']}>
      <Loaded query={status}>
        {({ enabled, nextRunAtMs, lastRunAtMs, lastError, pausedReason }) => (
          <>
            <Facts
              facts={{
                State: enabled ? 'enabled' : `paused${pausedReason === undefined ? '' : `: ${pausedReason}`}`,
                'Next run': formatTime(nextRunAtMs ?? undefined),
                'Last run': formatTime(lastRunAtMs),
                'Last error': lastError,
              }}
            />
            <p className="tools">
              <Action label="Run now" needs="cron.run" run={() => call('cron.run', one)} />
              <Action
                label={enabled ? 'Pause' : 'Resume'}
                needs="cron.update"
                run={async () => {
                  await call('cron.update', { ...one, enabled: !enabled });
                  await refresh();
                }}
              />
              <Confirm
                label="Remove job"
                name={name}
                needs="cron.remove"
                run={async () => {
                  await call('cron.remove', one);
                  await refresh();
                  await navigate({ to: '.', search: {} });
                }}
              >
                <p>The job is removed and does not fire again. A run that has started finishes.</p>
              </Confirm>
            </p>
          </>
        )}
      </Loaded>
      <h3>Next fires</h3>
      <Loaded query={fires}>
        {({ fires: next }) =>
          next.length === 0 ? (
            <p className="empty">The job does not fire again.</p>
          ) : (
            <ol>
              {next.map(({ atMs, at }) => (
                <li key={atMs}>
                  {formatTime(atMs)} <span className="age">{at}</span>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
      <h3>Runs</h3>
      <Loaded query={runs}>
        {({ runs: rows }) => (
          <DataTable
            label={`runs of ${name}`}
            columns={['due', 'outcome', 'duration', 'tokens', 'cost', 'delivery', 'summary']}
            rows={rows.map(({ runAt, status: outcome, success, error, durationMs, totalTokens, costUsd, delivery, summary }) => ({
              due: formatTime(runAt),
              outcome: error ?? outcome ?? (success ? 'ok' : 'error'),
              duration: formatDuration(durationMs),
              tokens: formatCount(totalTokens),
              cost: formatUsd(costUsd),
              delivery,
              summary,
            }))}
          />
        )}
      </Loaded>
      <CopyAs method="cron.status" params={one} />
    </Section>
  );
}
