import { ConfigEditor } from '../../editor/ConfigEditor.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { History } from './History.tsx';

/** The sections of the configuration with a form and a text editor, the history and its rollback. */
export function Configuration() {
  const schemas = useCall('config.schema', {});
  const [section, setSection] = useSearchText('section');
  return (
    <>
      <Loaded query={schemas}>
        {({ schema }) => (
          <label>
            Section{' '}
            <select value={section} onChange={(event) => setSection(event.target.value)}>
              <option value="">choose</option>
              {Object.keys(schema)
                .toSorted()
                .map((name) => (
                  <option key={name}>{name}</option>
                ))}
            </select>
          </label>
        )}
      </Loaded>
      {section !== '' && (
        <Section title={section} needs={['config.patch']}>
          <ConfigEditor key={section} path={[section]} />
          <CopyAs method="config.read" params={{ section }} />
        </Section>
      )}
      <Section title="History" needs={['config.history']}>
        <History />
      </Section>
    </>
  );
}
