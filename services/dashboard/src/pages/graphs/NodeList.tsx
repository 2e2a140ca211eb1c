import { formatDuration } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import type { Progress } from './progress.ts';

/** The nodes in execution order. The selected one shows its error and its output. */
export function NodeList({ graph: { graphId, executionOrder, nodes } }: { graph: Progress }) {
  const [selected, select] = useSearchText('node');
  const node = nodes[selected];
  return (
    <div className="node-list">
      <ol className="plain-list" aria-label="Nodes in execution order">
        {executionOrder.map((id) => {
          const { status, durationMs, dependsOn = [] } = nodes[id] ?? { status: 'pending' };
          return (
            <li key={id}>
              <button type="button" className="plain" aria-pressed={id === selected} onClick={() => select(id)}>
                <strong>{id}</strong> · {status} · {formatDuration(durationMs)}
                {dependsOn.length > 0 && ` · after ${dependsOn.join(', ')}`}
              </button>
            </li>
          );
        })}
      </ol>
      {node && (
        <section aria-label={`Node ${selected}`}>
          <h3>{selected}</h3>
          {node.error !== undefined && <p role="alert">{node.error}</p>}
          {node.output !== null && <Output graphId={graphId} nodeId={selected} />}
        </section>
      )}
    </div>
  );
}

function Output({ graphId, nodeId }: { graphId: string; nodeId: string }) {
  const outputs = useCall('graph.outputs', { graphId }, ['graph:completed']);
  return (
    <Loaded query={outputs}>
      {({ outputs: all }) => (
        <pre tabIndex={0} dir="auto">
          {all[nodeId] ?? ''}
        </pre>
      )}
    </Loaded>
  );
}
