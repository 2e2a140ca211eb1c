import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Action } from '../parts/Action.tsx';
import { Confirm } from '../parts/Confirm.tsx';
import { DataTable } from '../parts/DataTable.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { useCall } from '../parts/use-call.ts';
import { useSearchText } from '../parts/use-search.ts';
import { call } from '../session/client.ts';

/** The configuration in force by section, a change with a dry run, the history and its rollback. */
export function Configuration() {
  const overview = useCall('config.read', {}, ['config:patched']);
  const history = useCall('config.history', { limit: 50 }, ['config:patched']);
  const [section, setSection] = useSearchText('section');
  const [version, setVersion] = useSearchText('version');
  const cache = useQueryClient();
  const refresh = () =>
    Promise.all([cache.invalidateQueries({ queryKey: ['config.read'] }), cache.invalidateQueries({ queryKey: ['config.history'] })]);
  const head = history.data?.entries[0]?.sha;
  return (
    <>
      <Loaded query={overview}>
        {(result) => {
          const config = ('config' in result ? result['config'] : result) as Readonly<Record<string, unknown>>;
          return (
            <>
              <label>
                Section{' '}
                <select value={section} onChange={(event) => setSection(event.target.value)}>
                  <option value="">all</option>
                  {Object.keys(config).map((name) => (
                    <option key={name}>{name}</option>
                  ))}
                </select>
              </label>
              <pre tabIndex={0}>{JSON.stringify(section === '' ? config : config[section], undefined, 2)}</pre>
            </>
          );
        }}
      </Loaded>
      <h2>Change</h2>
      <Editor head={head} onApplied={refresh} />
      <h2>History</h2>
      <Loaded query={history}>
        {({ entries }) => (
          <DataTable
            label="versions"
            columns={['sha', 'date', 'author', 'message']}
            rows={entries}
            actions={({ sha }) => (
              <>
                <button type="button" onClick={() => setVersion(String(sha))}>
                  Compare
                </button>
                <Confirm
                  label="Roll back"
                  name={String(sha)}
                  run={async () => {
                    await call('config.rollback', { sha: String(sha), ...(head === undefined ? {} : { baseSha: head }) });
                    await refresh();
                  }}
                >
                  <p>All settings stored since this version are taken back.</p>
                </Confirm>
              </>
            )}
          />
        )}
      </Loaded>
      {version !== '' && <Difference sha={version} />}
    </>
  );
}

/** The base is the version at the first keystroke, so that a change by another operator is never overwritten. */
function Editor({ head, onApplied }: { head: string | undefined; onApplied: () => Promise<unknown> }) {
  const [text, setText] = useState('{}');
  const [base, setBase] = useState<string>();
  const [result, setResult] = useState('');
  const write = async (dryRun: boolean): Promise<void> => {
    const patch = JSON.parse(text) as object;
    const baseSha = base ?? head;
    const answer = await call('config.patch', { ...patch, ...(baseSha === undefined ? {} : { baseSha }), dryRun });
    setResult(JSON.stringify(answer, undefined, 2));
    if (dryRun) return;
    setBase(undefined);
    await onApplied();
  };
  return (
    <>
      <label>
        Patch as JSON, sections by name
        <textarea
          rows={6}
          value={text}
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value);
            setBase((previous) => previous ?? head);
          }}
        />
      </label>
      {base !== undefined && base !== head && (
        <p role="alert" className="notice">
          The configuration changed from {base} to {head} since you began. Compare the versions below, then{' '}
          <button type="button" onClick={() => setBase(undefined)}>
            continue on the newest version
          </button>
        </p>
      )}
      <p className="tools">
        <Action label="Dry run" run={() => write(true)} />
        <Action label="Apply" run={() => write(false)} />
      </p>
      {result && <pre tabIndex={0}>{result}</pre>}
    </>
  );
}

function Difference({ sha }: { sha: string }) {
  const difference = useCall('config.diff', { sha });
  return <Loaded query={difference}>{({ diff }) => <pre tabIndex={0}>{diff === '' ? 'No difference.' : diff}</pre>}</Loaded>;
}
