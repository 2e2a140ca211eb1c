import type { Principal } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { OutputDocument, RunDocument } from '../documents/collections.ts';
import type { GraphLimits } from './run-work.ts';
import { truncateOutput } from './output-text.ts';

export interface ReadOutputsDeps {
  outputs: Collection<OutputDocument>;
  limits: () => Pick<GraphLimits, 'maxOutputChars'>;
}

/** Returns the output of each node up to a number of characters; null for a node that has not completed. */
export async function readOutputs(
  { outputs, limits }: ReadOutputsDeps,
  principal: Pick<Principal, 'tenant'>,
  { runId, definition, run }: RunDocument,
  maxChars: number = limits().maxOutputChars,
): Promise<Record<string, string | null>> {
  const { items } = await outputs.for(principal).find({ runId }, { limit: definition.nodes.length });
  const texts = new Map(items.map(({ nodeId, text }) => [nodeId, text]));
  const entries = definition.nodes.map(({ node_id: nodeId }): [string, string | null] => {
    if (run.nodes[nodeId]?.status !== 'completed') return [nodeId, null];
    const text = texts.get(nodeId);
    return [nodeId, text === undefined ? '[the stored output is gone]' : truncateOutput(text, { maxChars, runId, nodeId })];
  });
  return Object.fromEntries(entries);
}
