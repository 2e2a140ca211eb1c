import { formatTime, formatValue } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { VirtualList } from '../../parts/VirtualList.tsx';

const MAX_EVENTS = 1_000;

/** The newest diagnostic events, with the counts of each category by the service. */
export function Diagnostics() {
  return (
    <Section title="Diagnostic events" needs={['obs.diagnostics']}>
      <Events />
    </Section>
  );
}

function Events() {
  const [category, setCategory] = useSearchText('category');
  const events = useCall('obs.diagnostics', { limit: MAX_EVENTS, ...(category === '' ? {} : { category }) });
  return (
    <Loaded query={events}>
      {({ events: rows, counts }) => (
        <>
          <label>
            Category{' '}
            <select value={category} onChange={(event) => setCategory(event.target.value)}>
              <option value="">all</option>
              {Object.entries(counts).map(([name, count]) => (
                <option key={name} value={name}>
                  {name} ({count})
                </option>
              ))}
            </select>
          </label>
          {rows.length === 0 ? (
            <p className="empty">Nothing yet.</p>
          ) : (
            <VirtualList
              label="Diagnostic events, newest first"
              items={rows}
              rowHeight={32}
              getKey={({ id }) => id}
              render={({ timestamp, category: group, eventType, data }) => (
                <details>
                  <summary>
                    {formatTime(timestamp)} <strong>{eventType}</strong> · {group} · {formatValue(data)}
                  </summary>
                  <pre>{JSON.stringify(data, undefined, 2)}</pre>
                </details>
              )}
            />
          )}
        </>
      )}
    </Loaded>
  );
}
