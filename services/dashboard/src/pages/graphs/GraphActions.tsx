import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../../parts/Action.tsx';
import { Confirm } from '../../parts/Confirm.tsx';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';
import type { Progress } from './progress.ts';

/** Runs, resumes, cancels and saves a graph. */
export function GraphActions({ graph: { graphId, runId, status } }: { graph: Progress }) {
  const [inputs, setInputs] = useDraft(`inputs of ${graphId}`, '{}');
  const [name, setName] = useDraft(`name of ${graphId}`);
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('graph.') });
  const readInputs = () => JSON.parse(inputs) as Record<string, unknown>;
  return (
    <>
      <label>
        Inputs as JSON <input value={inputs} spellCheck={false} onChange={(event) => setInputs(event.target.value)} />
      </label>
      <p className="tools">
        <Action
          label="Execute"
          needs="graph.execute"
          disabled={status === 'running'}
          run={() => call('graph.execute', { graphId, inputs: readInputs() }).then(refresh)}
        />
        {runId !== undefined && (status === 'failed' || status === 'cancelled') && (
          <Action label="Resume" needs="graph.resume" run={() => call('graph.resume', { runId, inputs: readInputs() }).then(refresh)} />
        )}
        {status === 'running' && (
          <Confirm label="Cancel run" name={graphId} needs="graph.cancel" run={() => call('graph.cancel', { graphId }).then(refresh)}>
            <p>Running nodes finish, and no further node starts.</p>
          </Confirm>
        )}
        <label>
          Name <input value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" />
        </label>
        <Action label="Save" needs="graph.save" disabled={name === ''} run={() => call('graph.save', { name, graphId }).then(refresh)} />
      </p>
    </>
  );
}
