import { DataTable } from '../../parts/DataTable.tsx';
import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatDuration, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';

/** The activity of the channels and the outcome of their deliveries. */
export function Traffic() {
  const channels = useCall('obs.channels.all', {});
  const stats = useCall('obs.delivery.stats', {});
  return (
    <Section title="Channels and deliveries" needs={['obs.channels.all', 'obs.delivery.stats']}>
      <Loaded query={stats}>
        {({ total, failures, avgLatencyMs, note }) => (
          <>
            <Facts
              facts={{ Deliveries: formatCount(total), Failed: formatCount(failures), 'Average latency': formatDuration(avgLatencyMs) }}
            />
            {note !== undefined && <p role="note">{note}</p>}
          </>
        )}
      </Loaded>
      <Loaded query={channels}>
        {({ channels: rows }) => (
          <DataTable
            label="channels"
            columns={['channelId', 'channelType', 'last active', 'messagesReceived', 'messagesSent']}
            rows={rows.map((row) => ({ ...row, 'last active': formatTime(row.lastActiveAt) }))}
          />
        )}
      </Loaded>
    </Section>
  );
}
