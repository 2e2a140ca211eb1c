import { Action } from '../../parts/Action.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatDuration, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';

/** The last and the next heartbeat of every agent. */
export function Heartbeats() {
  const states = useCall('heartbeat.states', {}, ['scheduler:heartbeat_check', 'scheduler:heartbeat_delivered', 'config:patched']);
  return (
    <Loaded query={states}>
      {({ agents }) => (
        <DataTable
          label="heartbeats"
          columns={['agent', 'interval', 'last', 'next', 'outcome', 'errors in a row']}
          rows={agents.map(({ agentId, enabled, intervalMs, lastRunMs, nextDueMs, lastOutcome, lastReason, consecutiveErrors }) => ({
            agent: agentId,
            interval: enabled ? formatDuration(intervalMs) : 'off',
            last: formatTime(lastRunMs ?? undefined),
            next: formatTime(nextDueMs ?? undefined),
            outcome: [lastOutcome, lastReason].filter((part) => part !== undefined).join(': '),
            'errors in a row': consecutiveErrors,
          }))}
          actions={({ agent }) => (
            <Action
              label="Trigger"
              needs="heartbeat.trigger"
              run={async () => {
                await call('heartbeat.trigger', { agentId: String(agent) });
                await states.refetch();
              }}
            />
          )}
        />
      )}
    </Loaded>
  );
}
