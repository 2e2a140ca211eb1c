import type { CallParams } from '@switchyard/client';
import type { CommandContext } from '../../arguments/command-group.ts';
import { readDocument } from '../../arguments/document.ts';
import { getText } from '../../arguments/flags.ts';
import { wrongUsage } from '../../output/failure.ts';
import { print, printAs, remark } from '../../output/output.ts';
import { self } from '../../server/installation.ts';
import { watchGraph } from './graph-views.ts';

/** Defines the graph of a file, executes it, and shows its progress until it has ended. */
export async function runGraph(context: CommandContext, file: string, ...pairs: string[]): Promise<void> {
  const { call, flags } = context;
  const { $schema: _, ...definition } = readDocument(file);
  const defined = await call('graph.define', definition as unknown as CallParams<'graph.define'>);
  for (const { message, fix } of defined.warnings) remark(fix === undefined ? message : `${message} ${fix}`);
  const request = {
    graphId: defined.graphId,
    inputs: readInputs(pairs),
    ...getText(flags, 'channel-type', 'announceChannelType'),
    ...getText(flags, 'channel-id', 'announceChannelId'),
  };
  // The answer comes when the run has ended; its progress is read meanwhile.
  const executed = call('graph.execute', request);
  const started = executed.then(() => undefined);
  started.catch(() => undefined);
  await Promise.race([started, waitForStart(context, defined.graphId)]);
  await watchGraph(context, defined.graphId);
}

async function waitForStart({ call }: CommandContext, graphId: string): Promise<void> {
  for (;;) {
    const { status } = (await call('graph.status', { graphId })) as { status: string };
    if (status !== 'pending') return;
  }
}

function readInputs(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair): [string, string] => {
      const at = pair.indexOf('=');
      if (at < 1) throw wrongUsage(`An input has the form NAME=value, not ${pair}.`, `${self()} graph run --help`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

export async function resumeGraph(context: CommandContext, runId: string, ...pairs: string[]): Promise<void> {
  const { call } = context;
  const { graphId } = await call('graph.resume', { runId, inputs: readInputs(pairs) });
  await watchGraph(context, graphId);
}

export async function cancelGraph({ call, output }: CommandContext, graphId: string): Promise<void> {
  const answer = await call('graph.cancel', { graphId });
  if (output !== 'table') printAs(output, answer);
  else print(`Cancelled ${graphId}. Nodes that run finish; no further node starts.\n`);
}
