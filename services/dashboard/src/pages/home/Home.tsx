import { CopyAs } from '../../parts/CopyAs.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { useCall } from '../../parts/use-call.ts';
import { LatestTurns } from './LatestTurns.tsx';
import { Waiting } from './Waiting.tsx';
import { useReadiness } from '../../session/presence.ts';

/** The services of the installation and their replicas. */
export function Home() {
  const readiness = useReadiness();
  const status = useCall('gateway.status', {}, ['config:patched']);
  const agents = useCall('agents.list', {}, ['agent:hot_added', 'agent:hot_removed']);
  return (
    <>
      <Loaded query={readiness}>
        {({ ready, status: state, services = [] }) => (
          <>
            <p className="headline">
              <span aria-hidden="true">{ready ? '●' : '▲'}</span> The gateway is {state}.
            </p>
            <DataTable
              label="services"
              columns={['service', 'state', 'replicas', 'versions']}
              rows={services.map(({ service, state: presence, replicas }) => ({
                service,
                state: presence,
                replicas: replicas.length,
                versions: [...new Set(replicas.map(({ version }) => version))].join(', '),
              }))}
            />
          </>
        )}
      </Loaded>
      <Waiting />
      <LatestTurns />
      <Loaded query={agents}>{({ agents: ids }) => <p>Agents: {ids.join(', ')}</p>}</Loaded>
      <Loaded query={status}>
        {({ uptime, memoryUsage, nodeVersion, notInForce = [] }) => (
          <>
            <p>
              Up for {Math.round(uptime / 60)} min, {Math.round(memoryUsage / 1_048_576)} MiB, Node {nodeVersion}
            </p>
            {notInForce.length > 0 && <p>Settings without effect: {notInForce.map(({ path }) => path).join(', ')}</p>}
          </>
        )}
      </Loaded>
      <CopyAs method="gateway.status" params={{}} />
    </>
  );
}
