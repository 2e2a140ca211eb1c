import type { CallParams } from '@switchyard/client';
import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { useMethods } from '../../session/presence.ts';
import { call } from '../../session/client.ts';
import { listEnum } from './parameter-schema.ts';

type Params = CallParams<'daemon.setLogLevel'>;

/** Sets log levels of the running processes. The levels and modules are those of the method's schema. */
export function LogLevels() {
  const { data: document } = useMethods();
  const [level, setLevel] = useState('');
  const [module, setModule] = useState('');
  const [result, setResult] = useState('');
  const params = { level, ...(module === '' ? {} : { module }) } as Params;
  const set = async (): Promise<void> => {
    setResult(JSON.stringify(await call('daemon.setLogLevel', params)));
  };
  return (
    <>
      <p>The levels last until the processes restart. The configuration key logLevel sets them for good.</p>
      <Choice label="Level" value={level} onChange={setLevel} options={listEnum(document, 'daemon.setLogLevel', 'level')} none="choose" />
      <Choice label="Module" value={module} onChange={setModule} options={listEnum(document, 'daemon.setLogLevel', 'module')} none="all" />
      <p className="tools">
        <Action label="Set level" needs="daemon.setLogLevel" run={set} />
      </p>
      {level !== '' && <CopyAs method="daemon.setLogLevel" params={params} />}
      {result && <pre tabIndex={0}>{result}</pre>}
    </>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: readonly string[];
  none: string;
}

function Choice({ label, value, onChange, options, none }: ChoiceProps) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{none}</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}
