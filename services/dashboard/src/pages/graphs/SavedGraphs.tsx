import { Action } from '../../parts/Action.tsx';
import { Confirm } from '../../parts/Confirm.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';

/** The saved definitions. Each can be loaded as a new graph. */
export function SavedGraphs({ onLoaded }: { onLoaded: (graphId: string) => void }) {
  const graphs = useCall('graph.list', {});
  return (
    <Loaded query={graphs}>
      {({ graphs: rows }) => (
        <DataTable
          label="graphs"
          columns={['name', 'nodeCount', 'created']}
          rows={rows.map((row) => ({ ...row, created: formatTime(row.createdAt) }))}
          actions={({ name, nodeCount }) => (
            <span className="tools">
              <Action
                label="Load"
                needs="graph.load"
                run={async () => onLoaded((await call('graph.load', { name: String(name) })).graphId)}
              />
              <Confirm
                label="Delete graph"
                name={String(name)}
                needs="graph.delete"
                run={async () => {
                  await call('graph.delete', { name: String(name) });
                  await graphs.refetch();
                }}
              >
                <p>The saved definition with {String(nodeCount)} nodes is removed. Its runs are kept.</p>
              </Confirm>
            </span>
          )}
        />
      )}
    </Loaded>
  );
}
