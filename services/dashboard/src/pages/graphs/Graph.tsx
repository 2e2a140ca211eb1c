import { lazy, Suspense, useEffect } from 'react';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { formatDuration, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { GraphActions } from './GraphActions.tsx';
import { NodeList } from './NodeList.tsx';

const loadPicture = () => import('./Picture.tsx');
const Picture = lazy(async () => ({ default: (await loadPicture()).Picture }));

/** One graph: its latest run as a picture, and the same nodes as a list for keyboards and screen readers. */
export function Graph({ graphId }: { graphId: string }) {
  const status = useCall('graph.status', { graphId }, ['graph:started', 'graph:node_updated', 'graph:completed']);
  // The scripts of the picture arrive while the graph is read.
  useEffect(() => void loadPicture(), []);
  return (
    <Section title="Graph" needs={['graph.status']}>
      <Loaded query={status}>
        {(result) => {
          if (!('nodes' in result)) return undefined;
          const { label, status: state, stats, startedAt, durationMs, runId } = result;
          return (
            <>
              <p className="headline">
                {label ?? graphId}: {state}. {stats.completed} of {stats.total} nodes completed
                {stats.failed > 0 && `, ${stats.failed} failed`}.
              </p>
              <p className="age">
                {runId === undefined ? 'Not executed yet' : `Run ${runId}, started ${formatTime(startedAt)}, ${formatDuration(durationMs)}`}
              </p>
              <GraphActions graph={result} />
              <div className="columns">
                <Suspense fallback={<p className="loading">Loading the picture …</p>}>
                  <Picture graph={result} />
                </Suspense>
                <NodeList graph={result} />
              </div>
            </>
          );
        }}
      </Loaded>
      <CopyAs method="graph.status" params={{ graphId }} />
    </Section>
  );
}
