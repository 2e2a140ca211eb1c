import type { CallResult } from '@switchyard/client';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { formatAuthor, SHORT } from './author.ts';
import { RollBack } from './RollBack.tsx';
import { Version } from './Version.tsx';

const SHOWN_VERSIONS = 200;

/** The versions of the configuration with their authors, and which replicas run the newest one. */
export function History() {
  const params = { limit: SHOWN_VERSIONS };
  const history = useCall('config.history', params, ['config:patched']);
  const [version, setVersion] = useSearchText('version');
  return (
    <>
      <Loaded query={history}>
        {({ entries, inForce }) => (
          <>
            {version !== '' && <Version sha={version} entries={entries} />}
            {inForce !== undefined && <InForce {...inForce} />}
            <DataTable
              label="versions"
              columns={['time', 'changed by', 'section', 'message', 'version']}
              rows={entries.map((entry) => ({
                ...entry,
                time: formatTime(entry.date),
                'changed by': formatAuthor(entry),
                version: entry.sha.slice(0, SHORT),
              }))}
              actions={({ sha }) => (
                <span className="tools">
                  <button type="button" aria-pressed={sha === version} onClick={() => setVersion(String(sha))}>
                    Show change
                  </button>
                  {sha !== entries[0]?.sha && <RollBack label="Roll back to this" sha={String(sha)} head={entries[0]?.sha} />}
                </span>
              )}
            />
          </>
        )}
      </Loaded>
      <CopyAs method="config.history" params={params} />
    </>
  );
}

function InForce({ replicas, lagging, sha }: NonNullable<CallResult<'config.history'>['inForce']>) {
  return (
    <p>
      {replicas - lagging.length} of {replicas} replicas run {sha.slice(0, SHORT)}.{' '}
      {lagging.map(({ replica, refused }) => `${replica} does not${refused === undefined ? '' : `: ${refused}`}`).join('; ')}
    </p>
  );
}
