import { formatCount } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';

/** Tokens of the last day by hour of the day in UTC, as bars with their numbers. */
export function HourlyTokens() {
  const usage = useCall('obs.billing.usage24h', {}, ['observability:token_usage']);
  return (
    <Section title="Tokens of the last day by hour (UTC)" needs={['obs.billing.usage24h']}>
      <Loaded query={usage}>
        {(hours) => {
          const most = Math.max(1, ...hours.map(({ tokens }) => tokens));
          if (hours.every(({ tokens }) => tokens === 0)) return <p className="empty">No tokens in the last day.</p>;
          return (
            <ul className="bars">
              {hours.map(({ hour, tokens }) => (
                <li key={hour}>
                  <span>{String(hour).padStart(2, '0')}:00</span>
                  <span className="bar" aria-hidden="true" style={{ inlineSize: `${(tokens / most) * 100}%` }} />
                  <span>{formatCount(tokens)}</span>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </Section>
  );
}
