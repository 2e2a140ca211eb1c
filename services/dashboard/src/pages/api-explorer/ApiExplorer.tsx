import type { MethodName, OpenRpcDocument } from '@switchyard/contracts';
import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { useSearchText } from '../../parts/use-search.ts';
import { call } from '../../session/client.ts';
import { useMethods } from '../../session/presence.ts';

/** Every method of this version, with its schema and a form that calls it. */
export function ApiExplorer() {
  const methods = useMethods();
  const [name, setName] = useSearchText('method');
  return (
    <Loaded query={methods}>
      {(document) => {
        const method = document.methods.find((one) => one.name === name);
        return (
          <>
            <label>
              Method{' '}
              <select value={name} onChange={(event) => setName(event.target.value)}>
                <option value="">choose</option>
                {document.methods.map((one) => (
                  <option key={one.name} value={one.name}>
                    {one.name}
                    {one['x-served'] ? '' : ' (not in this version)'}
                  </option>
                ))}
              </select>
            </label>
            {method && <Explorer key={name} method={method} />}
          </>
        );
      }}
    </Loaded>
  );
}

function Explorer({ method }: { method: OpenRpcDocument['methods'][number] }) {
  const [text, setText] = useState('{}');
  const [result, setResult] = useState('');
  const name = method.name as MethodName;
  let params: Record<string, unknown> | undefined;
  try {
    params = JSON.parse(text) as Record<string, unknown>;
  } catch {
    params = undefined;
  }
  const send = async (): Promise<void> => {
    if (params === undefined) throw new Error('The parameters are no valid JSON.');
    setResult(JSON.stringify(await call(name, params as never), undefined, 2));
  };
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      <p>
        {method.summary} Service {method['x-service']}, scope {method['x-scope']}.
      </p>
      <label>
        Parameters as JSON
        <textarea rows={6} value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />
      </label>
      <p className="tools">
        <Action label="Call" run={send} />
      </p>
      {params && <CopyAs method={name} params={params} />}
      {result && <pre tabIndex={0}>{result}</pre>}
      <details>
        <summary>Schema</summary>
        <pre tabIndex={0}>{JSON.stringify(method.params, undefined, 2)}</pre>
      </details>
    </section>
  );
}
