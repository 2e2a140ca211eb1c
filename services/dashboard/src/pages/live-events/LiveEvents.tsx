import { useState, useSyncExternalStore } from 'react';
import { getHubState, MAX_EVENTS, onHubChange, type LiveEvent } from '../../live/event-hub.ts';
import { CopyRoute } from '../../parts/CopyRoute.tsx';
import { Exports } from '../../parts/Exports.tsx';
import { formatCount, formatTime, formatValue } from '../../parts/format.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { VirtualList } from '../../parts/VirtualList.tsx';
import { matchEvent } from './match-event.ts';

/** The newest system events, with a filter and the selected event in the address. */
export function LiveEvents() {
  const { events, aliveAt } = useSyncExternalStore(onHubChange, getHubState);
  const [paused, setPaused] = useState<readonly LiveEvent[]>();
  const [filter, setFilter] = useSearchText('filter');
  const [selected, select] = useSearchText('event');
  const shown = (paused ?? events).filter((event) => matchEvent(event, filter));
  return (
    <>
      <p className="tools">
        <label>
          Filter <input type="search" value={filter} onChange={(event) => setFilter(event.target.value)} />
        </label>
        <button type="button" aria-pressed={paused !== undefined} onClick={() => setPaused(paused === undefined ? events : undefined)}>
          Pause
        </button>
        <span className="age">{aliveAt === undefined ? 'Connecting …' : `Stream alive at ${formatTime(aliveAt)}`}</span>
      </p>
      {shown.length === 0 ? (
        <p className="empty">No events since this page was opened. Send a message on the Chat page to see some.</p>
      ) : (
        <>
          <p className="age">
            {formatCount(shown.length)} of {formatCount((paused ?? events).length)} events
          </p>
          <VirtualList
            label="Events, newest first"
            items={shown.toReversed()}
            rowHeight={32}
            isFixed
            render={(event) => <EventLine event={event} isSelected={event.id === selected} onSelect={select} />}
          />
          <Exports label="events" rows={shown} columns={['at', 'id', 'name', 'payload']} />
        </>
      )}
      {selected !== '' && <SelectedEvent id={selected} event={events.find(({ id }) => id === selected)} />}
      <CopyRoute path="/api/events" typeScript="for await (const event of client.events()) console.log(event);" />
    </>
  );
}

interface EventLineProps {
  event: LiveEvent;
  isSelected: boolean;
  onSelect: (id: string) => void;
}

function EventLine({ event: { id = '', at, name, payload }, isSelected, onSelect }: EventLineProps) {
  return (
    <button type="button" className="plain" aria-pressed={isSelected} onClick={() => onSelect(id)}>
      {formatTime(at)} <strong>{name}</strong> {formatValue(payload)}
    </button>
  );
}

function SelectedEvent({ id, event }: { id: string; event: LiveEvent | undefined }) {
  const [shown, setShown] = useState(event);
  if (event !== undefined && event !== shown) setShown(event);
  return (
    <section aria-label={`Event ${id}`}>
      <h2>Event {id}</h2>
      {shown?.id === id ? (
        <>
          <p>
            {formatTime(shown.at)} <strong>{shown.name}</strong>
          </p>
          <pre tabIndex={0} dir="auto">
            {JSON.stringify(shown.payload, undefined, 2)}
          </pre>
        </>
      ) : (
        <p className="empty">This browser has not received the event, or it has received {formatCount(MAX_EVENTS)} newer ones.</p>
      )}
    </section>
  );
}
