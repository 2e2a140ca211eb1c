import { Section } from '../../parts/Section.tsx';
import { useSearchText } from '../../parts/use-search.ts';
import { DefineGraph } from './DefineGraph.tsx';
import { Graph } from './Graph.tsx';
import { GraphRuns } from './GraphRuns.tsx';
import { SavedGraphs } from './SavedGraphs.tsx';

/** The runs of graphs, the selected graph as a picture and as a list, and the saved graphs. */
export function Graphs() {
  const [graph, select] = useSearchText('graph');
  return (
    <>
      {graph !== '' && <Graph key={graph} graphId={graph} />}
      <Section title="Runs" needs={['graph.runs']}>
        <GraphRuns onSelect={select} />
      </Section>
      <Section title="Saved graphs" needs={['graph.list']}>
        <SavedGraphs onLoaded={select} />
      </Section>
      <Section title="Define a graph" needs={['graph.define']}>
        <DefineGraph onDefined={select} />
      </Section>
    </>
  );
}
