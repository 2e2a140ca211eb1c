import { useQueries } from '@tanstack/react-query';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatCount, formatUsd } from '../../parts/format.ts';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';

/** Agents whose costs are read at once. Each is one call. */
const MAX_AGENTS = 50;

/** The cost of each agent. */
export function AgentCosts({ params }: { params: { sinceMs?: number } }) {
  return (
    <Section title="Agents" needs={['agents.list', 'obs.billing.byAgent']}>
      <Agents params={params} />
    </Section>
  );
}

function Agents({ params }: { params: { sinceMs?: number } }) {
  const agents = useCall('agents.list', {}, ['agent:hot_added', 'agent:hot_removed']);
  const ids = agents.data?.agents ?? [];
  const shown = ids.slice(0, MAX_AGENTS);
  const costs = useQueries({
    queries: shown.map((agentId) => ({
      queryKey: ['obs.billing.byAgent', agentId, params],
      queryFn: ({ signal }: { signal: AbortSignal }) => call('obs.billing.byAgent', { agentId, ...params }, signal),
    })),
  });
  return (
    <>
      <DataTable
        label="agents"
        columns={['agent', 'cost', 'tokens', 'calls', 'daily budget']}
        rows={shown.map((agent, index) => {
          const billing = costs[index]?.data;
          const daily = billing?.budgetUsed?.perDay;
          return {
            agent,
            cost: formatUsd(billing?.totalCost),
            tokens: formatCount(billing?.totalTokens),
            calls: formatCount(billing?.callCount),
            'daily budget': daily && `${formatCount(daily.used)} of ${formatCount(daily.limit)} tokens`,
          };
        })}
      />
      {ids.length > shown.length && (
        <p role="note">
          The first {shown.length} of {ids.length} agents.
        </p>
      )}
    </>
  );
}
