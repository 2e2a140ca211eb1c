import { group } from '../../arguments/command-group.ts';
import { cancelGraph, resumeGraph, runGraph } from './graph-changes.ts';
import { printGraphSchema } from './graph-schema.ts';
import { listGraphRuns, showGraph, watchGraph } from './graph-views.ts';

export const graph = group({
  name: 'graph',
  about: 'Runs graphs of tasks, shows their progress, and resumes and cancels them.',
  otherwise: 'runs',
  verbs: {
    runs: { about: 'lists runs, newest first', run: listGraphRuns },
    run: {
      takes: '<file> [input]…',
      about: 'runs the graph of a YAML or JSON file and shows its progress; an input is NAME=value',
      flags: ['channel-type', 'channel-id'],
      run: runGraph,
    },
    watch: { takes: '<graphId>', about: 'shows the progress of the latest run until it has ended', run: watchGraph },
    show: { takes: '<graphId>', about: 'shows the nodes of the latest run', flags: ['mermaid'], run: showGraph },
    resume: { takes: '<runId> [input]…', about: 'continues a failed or cancelled run', run: resumeGraph },
    schema: { about: 'prints the JSON Schema of a graph file, by which editors complete it', run: printGraphSchema },
    cancel: { takes: '<graphId>', about: 'cancels the latest run; nodes that run finish', run: cancelGraph },
  },
  flags: {
    'channel-type': { value: 'type', about: 'run: channel that is asked for approvals, such as telegram' },
    'channel-id': { value: 'id', about: 'run: id of the chat that is asked for approvals' },
    mermaid: { about: 'show: prints a Mermaid flowchart' },
  },
  examples: ['graph run survey.yaml PRODUCT=switches', 'graph show graph_4fT0mUq2Zs8KxY1bNcVdGh --mermaid'],
});
