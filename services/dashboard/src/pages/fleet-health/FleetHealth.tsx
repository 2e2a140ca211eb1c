import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatUsd, formatSome } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { RootCause } from '../../parts/RootCause.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { Diagnostics } from './Diagnostics.tsx';
import { Traffic } from './Traffic.tsx';

const HOURS = ['1', '24', '168'];
const DEFAULT_HOURS = '24';

/** How the sessions of the last hours ended, with findings, and the diagnostic events. */
export function FleetHealth() {
  const [hours, setHours] = useSearchText('hours');
  const params = { sinceHours: Number(hours === '' ? DEFAULT_HOURS : hours) };
  const report = useCall('obs.fleet.health', params, ['execution:aborted']);
  return (
    <>
      <label>
        Hours{' '}
        <select value={hours === '' ? DEFAULT_HOURS : hours} onChange={(event) => setHours(event.target.value)}>
          {HOURS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <Loaded query={report}>
        {({ sessions, activity, cost, degradedByCause, topErrorKinds, toolStats, findings, likelyRootCause, suggestedNextSteps }) => (
          <>
            <p className="headline">
              <span aria-hidden="true">{sessions.degraded === 0 ? '●' : '▲'}</span> {sessions.degraded} of {sessions.total} sessions ended
              badly.{' '}
              {sessions.degraded > 0 && (
                <PageLink to="/runs" search={{ where: 'error' }}>
                  Their failed turns
                </PageLink>
              )}
            </p>
            <RootCause cause={likelyRootCause} nextSteps={suggestedNextSteps} />
            <Facts
              facts={{
                Turns: formatCount(activity.turnTotal),
                Tokens: formatCount(cost.totalTokens),
                Cost: formatUsd(cost.costUsd),
                'Active agents': formatSome(activity.activeAgents),
                'Active channels': formatSome(activity.activeChannels),
                Causes: Object.entries(degradedByCause)
                  .map(([cause, count]) => `${cause} ${count}`)
                  .join(', '),
                Errors: topErrorKinds.map(({ kind, count }) => `${kind} ${count}`).join(', '),
              }}
            />
            <h2>Findings</h2>
            <DataTable label="findings" columns={['code', 'detail', 'count', 'hint']} rows={findings} />
            <h2>Tools</h2>
            <DataTable
              label="tools"
              columns={['tool', 'ok', 'failed', 'topErrorKind']}
              rows={Object.entries(toolStats).map(([tool, stats]) => ({ tool, ...stats }))}
            />
          </>
        )}
      </Loaded>
      <CopyAs method="obs.fleet.health" params={params} />
      <Traffic />
      <Diagnostics />
    </>
  );
}
