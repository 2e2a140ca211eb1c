import { CopyAs } from '../../parts/CopyAs.tsx';
import { Exports } from '../../parts/Exports.tsx';
import { formatCount, formatDuration, formatTime, formatUsd } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { VirtualList } from '../../parts/VirtualList.tsx';
import { readTurnRows, type TurnRow } from './turn-row.ts';

const MAX_TURNS = 1_000;
const PERIODS = { '': 'two days', '1h': 'hour', '1d': 'day', '7d': 'seven days', '30d': 'thirty days' };

/** The newest turns of all sessions, or those that failed. */
export function TurnList() {
  return (
    <Section title="Turns" needs={['obs.trace.search']}>
      <Turns />
    </Section>
  );
}

function Turns() {
  const [turn, selectTurn] = useSearchText('turn');
  const [where, setWhere] = useSearchText('where');
  const [since, setSince] = useSearchText('since');
  const params = { limit: MAX_TURNS, ...(where === '' ? {} : { where }), ...(since === '' ? {} : { since }) };
  const found = useCall('obs.trace.search', params, ['observability:token_usage', 'execution:aborted']);
  return (
    <>
      <p className="tools">
        <label>
          Of the last{' '}
          <select value={since} onChange={(event) => setSince(event.target.value)}>
            {Object.entries(PERIODS).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Conditions{' '}
          <input type="search" value={where} placeholder="error, agent=a, cost>0.1" onChange={(event) => setWhere(event.target.value)} />
        </label>
        <button type="button" aria-pressed={where === 'error'} onClick={() => setWhere(where === 'error' ? '' : 'error')}>
          Failed only
        </button>
      </p>
      <Loaded query={found}>
        {(result) => {
          const rows = readTurnRows(result);
          if (rows.length === 0) return <p className="empty">No turns. Send a message on the Chat page to see one.</p>;
          return (
            <>
              <VirtualList
                label="Turns, newest first"
                items={rows}
                rowHeight={40}
                getKey={({ turnId }) => turnId}
                render={(row) => (
                  <button type="button" className="plain" aria-pressed={row.turnId === turn} onClick={() => selectTurn(row.turnId)}>
                    <Turn row={row} />
                  </button>
                )}
              />
              <Exports
                label="turns"
                rows={rows.map((row) => ({ ...row }))}
                columns={['at', 'turnId', 'agentId', 'state', 'lastError', 'durationMs', 'tokens', 'costUsd', 'sessionKey']}
              />
            </>
          );
        }}
      </Loaded>
      <CopyAs method="obs.trace.search" params={params} />
    </>
  );
}

function Turn({ row: { at, agentId, state, durationMs, tokens, costUsd, lastError, sessionKey } }: { row: TurnRow }) {
  return (
    <>
      {formatTime(at)} · {agentId} · {lastError === undefined ? state : <strong className="danger">▲ {lastError}</strong>} ·{' '}
      {formatDuration(durationMs)} · {formatCount(tokens)} tokens · {formatUsd(costUsd)} · <bdi>{sessionKey}</bdi>
    </>
  );
}
