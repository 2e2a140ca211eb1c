import type { CallResult } from '@switchyard/client';
import type { CommandContext } from '../../arguments/command-group.ts';
import { Failure } from '../../output/failure.ts';
import { oneLine, print, printAs, remark, table } from '../../output/output.ts';
import { second } from '../../output/times.ts';
import { self } from '../../server/installation.ts';
import { createProgressView, formatTree, type Progress } from './progress-view.ts';

const POLL_INTERVAL_MS = 500;

/** Shows the progress of a graph until its run has ended, and then the outputs. Fails if the run has not completed. */
export async function watchGraph(context: CommandContext, graphId: string): Promise<void> {
  const { output, call } = context;
  const view = output === 'table' ? createProgressView(process.stdout) : undefined;
  let progress = await readProgress(context, graphId);
  view?.show(progress);
  while (!progress.isTerminal) {
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
    progress = await readProgress(context, graphId);
    view?.show(progress);
  }
  const answer = await call('graph.outputs', { graphId });
  if (output === 'table') print(formatOutputs(answer.outputs));
  else printAs(output, { ...progress, outputs: answer.outputs });
  const next = progress.runId === undefined ? `${self()} graph show ${graphId}` : `${self()} graph resume ${progress.runId}`;
  if (progress.status !== 'completed') throw new Failure(`The graph ${graphId} is ${progress.status}.`, next);
}

export async function showGraph(context: CommandContext, graphId: string): Promise<void> {
  const { output, call, flags } = context;
  if (flags['mermaid'] !== undefined) return print((await call('graph.mermaid', { graphId })).mermaid);
  const progress = await readProgress(context, graphId);
  if (output !== 'table') return printAs(output, progress);
  print(`${formatTree(progress).join('\n')}\n`);
  if (progress.runId === undefined) remark(`It was never executed. Execute it: ${self()} rpc graph.execute graphId=${graphId}`);
}

export async function listGraphRuns({ call, output }: CommandContext): Promise<void> {
  const answer = await call('graph.runs', {});
  if (output !== 'table') return printAs(output, answer);
  if (answer.runs.length === 0) return remark(`No runs. Start one: ${self()} graph run --help`);
  const lines = answer.runs.map(({ runId, graphId, name = '', status, startedAt, durationMs }) => [
    second(startedAt),
    status,
    durationMs === undefined ? '' : (durationMs / 1_000).toFixed(1),
    name,
    graphId,
    runId,
  ]);
  print(table(['STARTED (UTC)', 'STATUS', 'SECONDS', 'NAME', 'GRAPH', 'RUN'], lines));
}

async function readProgress({ call }: CommandContext, graphId: string): Promise<Progress> {
  const answer: CallResult<'graph.status'> = await call('graph.status', { graphId });
  if (!('nodes' in answer)) throw new Failure(`The server did not return the graph ${graphId}.`, `${self()} graph runs`);
  return answer;
}

function formatOutputs(outputs: Readonly<Record<string, string | null>>): string {
  const present = Object.entries(outputs).filter((entry): entry is [string, string] => entry[1] !== null);
  return present.map(([nodeId, text]) => `\n# ${oneLine(nodeId)}\n\n${text}\n`).join('');
}
