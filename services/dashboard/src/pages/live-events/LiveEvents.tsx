import { useSyncExternalStore } from 'react';
import { getHubState, onHubChange } from '../../live/event-hub.ts';
import { Exports } from '../../parts/Exports.tsx';
import { formatTime, formatValue } from '../../parts/format.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { VirtualList } from '../../parts/VirtualList.tsx';

/** The newest system events, with a filter in the address. */
export function LiveEvents() {
  const { events, aliveAt } = useSyncExternalStore(onHubChange, getHubState);
  const [filter, setFilter] = useSearchText('filter');
  const shown = events.filter(({ name, payload }) => filter === '' || name.includes(filter) || JSON.stringify(payload).includes(filter));
  return (
    <>
      <p className="tools">
        <label>
          Filter <input type="search" value={filter} onChange={(event) => setFilter(event.target.value)} />
        </label>
        <span className="age">{aliveAt === undefined ? 'Connecting …' : `Stream alive at ${formatTime(aliveAt)}`}</span>
      </p>
      {shown.length === 0 ? (
        <p className="empty">No events since this page was opened. Send a message on the Chat page to see some.</p>
      ) : (
        <>
          <VirtualList
            label="Events, newest first"
            items={shown.toReversed()}
            rowHeight={32}
            getKey={({ id }, index) => id ?? index}
            render={({ at, name, payload }) => (
              <details>
                <summary>
                  {formatTime(at)} <strong>{name}</strong> {formatValue(payload)}
                </summary>
                <pre>{JSON.stringify(payload, undefined, 2)}</pre>
              </details>
            )}
          />
          <Exports label="events" rows={shown} columns={['at', 'id', 'name', 'payload']} />
        </>
      )}
    </>
  );
}
