import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';

const SHOWN_VERSIONS = 5;

/** Who changed the configuration last, each with a link to the change. */
export function LatestChanges() {
  return (
    <Section title="Latest changes of the configuration" needs={['config.history']}>
      <Versions />
    </Section>
  );
}

function Versions() {
  const history = useCall('config.history', { limit: SHOWN_VERSIONS }, ['config:patched']);
  return (
    <Loaded query={history}>
      {({ entries }) => (
        <ol className="plain-list">
          {entries.map(({ sha, date, author = 'unknown', section, message }) => (
            <li key={sha}>
              <PageLink to="/configuration" search={{ version: sha }}>
                {formatTime(date)} · {author} {section !== undefined && `· ${section}`} · {message}
              </PageLink>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}
