import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';

const LIST = { limit: 500 };

/** The names of the secrets. Values are written and never read. */
export function Secrets() {
  const secrets = useCall('env.list', LIST, ['secret:modified']);
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const save = async (): Promise<void> => {
    await call('env.set', { key: name, value });
    setValue('');
    await secrets.refetch();
  };
  return (
    <>
      <Loaded query={secrets}>
        {({ secrets: rows }) => <DataTable label="secrets" columns={['name', 'source', 'provider', 'createdAt']} rows={rows} />}
      </Loaded>
      <CopyAs method="env.list" params={LIST} />
      <h2>Set a secret</h2>
      <label>
        Name <input value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" />
      </label>
      <label>
        Value <input type="password" value={value} onChange={(event) => setValue(event.target.value)} autoComplete="new-password" />
      </label>
      <p className="tools">
        <Action label="Save" needs="env.set" run={save} />
      </p>
    </>
  );
}
