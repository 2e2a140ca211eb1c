import { useQueryClient } from '@tanstack/react-query';
import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { call } from '../../session/client.ts';

const SHOWN_VERSIONS = 200;

/** The versions of the configuration with their authors, and which replicas run the newest one. */
export function History() {
  const params = { limit: SHOWN_VERSIONS };
  const history = useCall('config.history', params, ['config:patched']);
  const [version, setVersion] = useSearchText('version');
  const cache = useQueryClient();
  return (
    <>
      <Loaded query={history}>
        {({ entries, inForce }) => (
          <>
            {inForce !== undefined && (
              <p>
                {inForce.replicas - inForce.lagging.length} of {inForce.replicas} replicas run {inForce.sha.slice(0, 12)}.{' '}
                {inForce.lagging
                  .map(({ replica, refused }) => `${replica} does not${refused === undefined ? '' : `: ${refused}`}`)
                  .join('; ')}
              </p>
            )}
            <DataTable
              label="versions"
              columns={['sha', 'time', 'author', 'message']}
              rows={entries.map((entry) => ({ ...entry, time: formatTime(entry.date) }))}
              actions={({ sha }) => (
                <span className="tools">
                  <button type="button" aria-pressed={sha === version} onClick={() => setVersion(String(sha))}>
                    Compare
                  </button>
                  <Confirm
                    label="Roll back"
                    name={String(sha)}
                    needs="config.rollback"
                    run={async () => {
                      const head = entries[0]?.sha;
                      await call('config.rollback', { sha: String(sha), ...(head === undefined ? {} : { baseSha: head }) });
                      await cache.invalidateQueries({ predicate: ({ queryKey }) => /^(config|agents)\./.test(String(queryKey[0])) });
                    }}
                  >
                    <p>These changes since the version are taken back, as a new version:</p>
                    <Difference sha={String(sha)} />
                  </Confirm>
                </span>
              )}
            />
          </>
        )}
      </Loaded>
      <CopyAs method="config.history" params={params} />
      {version !== '' && (
        <>
          <h3>Changes since {version}</h3>
          <Difference sha={version} />
        </>
      )}
    </>
  );
}

function Difference({ sha }: { sha: string }) {
  const difference = useCall('config.diff', { sha }, ['config:patched']);
  return <Loaded query={difference}>{({ diff }) => <pre tabIndex={0}>{diff === '' ? 'No difference.' : diff}</pre>}</Loaded>;
}
