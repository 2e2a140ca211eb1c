import { DataTable } from '../parts/DataTable.tsx';
import { formatTime } from '../parts/format.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { useCall } from '../parts/use-call.ts';

/** The saved graphs and the runs of all graphs. */
export function Graphs() {
  const graphs = useCall('graph.list', {});
  const runs = useCall('graph.status', {}, ['graph:started', 'graph:completed']);
  return (
    <>
      <h2>Saved graphs</h2>
      <Loaded query={graphs}>
        {({ graphs: rows }) => (
          <DataTable
            label="graphs"
            columns={['name', 'nodeCount', 'created']}
            rows={rows.map((row) => ({ ...row, created: formatTime(row.createdAt) }))}
          />
        )}
      </Loaded>
      <h2>Runs</h2>
      <Loaded query={runs}>{(result) => <pre tabIndex={0}>{JSON.stringify(result, undefined, 2)}</pre>}</Loaded>
    </>
  );
}
