import { Action } from '../parts/Action.tsx';
import { DataTable } from '../parts/DataTable.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { useCall } from '../parts/use-call.ts';
import { call } from '../session/client.ts';

/** The scheduled jobs and the heartbeats of the agents. */
export function Schedule() {
  const jobs = useCall('cron.list', {}, ['scheduler:job_started', 'scheduler:job_completed']);
  const heartbeats = useCall('heartbeat.states', {}, ['scheduler:heartbeat_check']);
  return (
    <>
      <h2>Jobs</h2>
      <Loaded query={jobs}>
        {({ jobs: rows }) => (
          <DataTable
            label="jobs"
            rows={rows}
            columns={['name', 'enabled', 'expr', 'tz', 'everyMs', 'nextRunAtMs', 'message']}
            actions={({ name }) => <Action label="Run now" run={() => call('cron.run', { name: String(name) })} />}
          />
        )}
      </Loaded>
      <h2>Heartbeats</h2>
      <Loaded query={heartbeats}>{(result) => <pre tabIndex={0}>{JSON.stringify(result, undefined, 2)}</pre>}</Loaded>
    </>
  );
}
