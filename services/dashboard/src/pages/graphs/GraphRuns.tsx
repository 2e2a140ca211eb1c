import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatDuration, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';

const SHOWN_RUNS = 200;

/** The newest runs of all graphs. */
export function GraphRuns({ onSelect }: { onSelect: (graphId: string) => void }) {
  const params = { limit: SHOWN_RUNS };
  const runs = useCall('graph.runs', params, ['graph:started', 'graph:completed']);
  return (
    <>
      <Loaded query={runs}>
        {({ runs: rows }) => (
          <DataTable
            label="runs"
            columns={['started', 'name', 'status', 'nodes', 'duration', 'runId']}
            rows={rows.map((row) => ({
              ...row,
              started: formatTime(row.startedAt),
              nodes: row.nodeCount,
              duration: formatDuration(row.durationMs),
            }))}
            actions={({ runId, graphId, status }) => (
              <span className="tools">
                <button type="button" onClick={() => onSelect(String(graphId))}>
                  Show
                </button>
                {status !== 'running' && (
                  <Confirm
                    label="Delete run"
                    name={String(runId)}
                    needs="graph.deleteRun"
                    run={async () => {
                      await call('graph.deleteRun', { runId: String(runId) });
                      await runs.refetch();
                    }}
                  >
                    <p>The run, its outputs and its files are removed. The graph is kept.</p>
                  </Confirm>
                )}
              </span>
            )}
          />
        )}
      </Loaded>
      <CopyAs method="graph.runs" params={params} />
    </>
  );
}
