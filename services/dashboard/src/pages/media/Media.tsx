import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { MediaTests } from './MediaTests.tsx';

const NAMES = {
  stt: 'Transcription',
  tts: 'Speech',
  vision: 'Vision',
  imageGen: 'Images',
  documentExtraction: 'Documents',
  linkUnderstanding: 'Links',
} as const;

/** The providers of each kind of media, and a test of each. */
export function Media() {
  const providers = useCall('media.providers', {}, ['config:patched']);
  return (
    <>
      <Loaded query={providers}>
        {({ providers: all }) => (
          <DataTable
            label="providers"
            columns={['kind', 'configured', 'provider', 'model', 'details']}
            rows={Object.entries(NAMES).map(([key, kind]) => {
              const { configured, ...rest } = all[key as keyof typeof NAMES];
              const { provider, model, ...details } = rest as { provider?: string | null; model?: string };
              return { kind, configured: configured ? 'yes' : 'no', provider, model, details };
            })}
          />
        )}
      </Loaded>
      <CopyAs method="media.providers" params={{}} />
      <Section title="Tests" needs={['media.test.tts']}>
        <MediaTests />
      </Section>
    </>
  );
}
