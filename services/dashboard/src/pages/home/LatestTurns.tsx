import { formatDuration, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { readTurnRows } from '../runs/turn-row.ts';

const SHOWN_ROWS = 10;

/** The turns that just ended, each with a link to its steps, or to why it failed. */
export function LatestTurns() {
  return (
    <Section title="Latest turns" needs={['obs.trace.search']}>
      <Turns />
    </Section>
  );
}

function Turns() {
  const found = useCall('obs.trace.search', { limit: SHOWN_ROWS }, ['observability:token_usage', 'execution:aborted']);
  return (
    <Loaded query={found}>
      {(result) => {
        const rows = readTurnRows(result);
        if (rows.length === 0) return <p className="empty">No turns yet. Send a message on the Chat page.</p>;
        return (
          <ol className="plain-list">
            {rows.map(({ turnId, at, agentId, state, lastError, durationMs }) => (
              <li key={turnId}>
                <PageLink to="/runs" search={{ turn: turnId }}>
                  {formatTime(at)} · {agentId} ·{' '}
                  {lastError === undefined ? state : <strong className="danger">▲ failed: {lastError}</strong>}
                </PageLink>{' '}
                {formatDuration(durationMs)}
              </li>
            ))}
          </ol>
        );
      }}
    </Loaded>
  );
}
