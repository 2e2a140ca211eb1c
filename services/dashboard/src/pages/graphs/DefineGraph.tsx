import type { CallParams } from '@switchyard/client';
import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';

const EXAMPLE = JSON.stringify(
  {
    label: 'survey',
    nodes: [
      { node_id: 'research', task: 'Find three vendors.' },
      { node_id: 'report', task: 'Compare {{research.result}}', depends_on: ['research'] },
    ],
  },
  undefined,
  2,
);

/** A definition as JSON. The service validates it and names the faulty node. */
export function DefineGraph({ onDefined }: { onDefined: (graphId: string) => void }) {
  const [text, setText] = useDraft('graph definition', EXAMPLE);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const define = async (): Promise<void> => {
    const { graphId, warnings: found } = await call('graph.define', JSON.parse(text) as CallParams<'graph.define'>);
    setWarnings(found.map(({ nodeId, message, fix }) => [nodeId, message, fix].filter((part) => part !== undefined).join(': ')));
    onDefined(graphId);
  };
  return (
    <>
      <label>
        Definition as JSON
        <textarea rows={8} value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />
      </label>
      <p className="tools">
        <Action label="Define" needs="graph.define" run={define} />
      </p>
      {warnings.length > 0 && (
        <ul role="status">
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
    </>
  );
}
