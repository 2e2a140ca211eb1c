import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { readOutput } from '../runs/output-files.ts';
import { getFilename } from '../runs/output-text.ts';
import { getRun } from './graph-access.ts';
import { storeDefinition } from './graph-define.ts';
import { executeGraph } from './graph-execute.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Characters of one part of an output. */
const PART_CHARS = 50_000;

/** Defines a graph and executes it. */
export function graphPipeline(deps: HandlerDeps): Handler<'graph.pipeline'> {
  return async ({ inputs, ...request }, { principal, signal }) => {
    const graph = await storeDefinition(deps, principal, request);
    return executeGraph(deps, principal, { graph, request: { graphId: graph.graphId, inputs }, signal });
  };
}

/** Reads a part of the complete output of a node. */
export function graphOutput(deps: HandlerDeps): Handler<'graph.output'> {
  return async ({ runId, nodeId, offset }, { principal }) => {
    await getRun(deps, principal, runId);
    const output = await deps.outputs.for(principal).get(`${runId}/${nodeId}`);
    if (!output) throw new ServiceError('NOT_FOUND', `The node ${nodeId} of run ${runId} has no output.`);
    const end = offset + PART_CHARS;
    const { text, totalChars, isMissing } = await readOutput(deps, principal.tenant, output, Math.min(end, output.totalChars ?? 0));
    if (isMissing) throw missingFile({ runId, nodeId, shownChars: text.length, totalChars });
    return { text: text.slice(offset, end), totalChars, ...(end < totalChars && { nextOffset: end }) };
  };
}

interface MissingFileOptions {
  runId: string;
  nodeId: string;
  shownChars: number;
  totalChars: number;
}

function missingFile({ runId, nodeId, shownChars, totalChars }: MissingFileOptions): ServiceError {
  const message = `The file ${getFilename(nodeId)} of the run ${runId} no longer exists. graph.runDetail has the first ${shownChars} of its ${totalChars} characters. Execute the graph again to write it.`;
  return new ServiceError('NOT_FOUND', message, { details: { reason: 'FILE_MISSING' } });
}
