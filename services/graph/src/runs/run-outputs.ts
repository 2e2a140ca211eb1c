import type { Principal } from '@switchyard/contracts';
import type { RunDocument } from '../documents/collections.ts';
import type { GraphLimits } from './run-work.ts';
import { readOutput, type OutputFileDeps } from './output-files.ts';
import { getFilename, truncateOutput } from './output-text.ts';

export interface ReadOutputsDeps extends Pick<OutputFileDeps, 'outputs' | 'blobs'> {
  limits: () => Pick<GraphLimits, 'maxOutputChars'>;
}

/** Returns the output of each node up to a number of characters; null for a node that has not completed. */
export async function readOutputs(
  deps: ReadOutputsDeps,
  principal: Pick<Principal, 'tenant'>,
  { runId, definition, run }: RunDocument,
  maxChars: number = deps.limits().maxOutputChars,
): Promise<Record<string, string | null>> {
  const { items } = await deps.outputs.for(principal).find({ runId }, { limit: definition.nodes.length });
  const documents = new Map(items.map((document) => [document.nodeId, document]));
  const entries: [string, string | null][] = [];
  for (const { node_id: nodeId } of definition.nodes) {
    const document = documents.get(nodeId);
    if (run.nodes[nodeId]?.status !== 'completed') entries.push([nodeId, null]);
    else if (!document) entries.push([nodeId, `[The file ${getFilename(nodeId)} of the run ${runId} no longer exists.]`]);
    else {
      const output = await readOutput(deps, principal.tenant, document, maxChars);
      entries.push([nodeId, truncateOutput(output, { maxChars, runId, nodeId })]);
    }
  }
  return Object.fromEntries(entries);
}
