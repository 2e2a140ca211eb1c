import { CopyAs } from '../../parts/CopyAs.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { LatestChanges } from './LatestChanges.tsx';
import { LatestTurns } from './LatestTurns.tsx';
import { describeServices, Services } from './Services.tsx';
import { Waiting } from './Waiting.tsx';
import { useReadiness } from '../../session/presence.ts';

/** What an operator looks for first: whether the product works, what just happened, and what waits. */
export function Home() {
  const readiness = useReadiness();
  const status = useCall('gateway.status', {}, ['config:patched']);
  const agents = useCall('agents.list', {}, ['agent:hot_added', 'agent:hot_removed']);
  return (
    <>
      <Loaded query={readiness}>
        {({ ready, status: state, services = [] }) => (
          <p className="headline">
            <span aria-hidden="true">{ready ? '●' : '▲'}</span> The gateway is {state}. {describeServices(services)}
          </p>
        )}
      </Loaded>
      <LatestTurns />
      <LatestChanges />
      <Waiting />
      <Loaded query={readiness}>{({ services = [] }) => <Services services={services} />}</Loaded>
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
