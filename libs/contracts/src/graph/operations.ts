import { z } from 'zod';
import { defineOperations } from '../definition/define.ts';
import { Count, JsonObject } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { GraphDefinition, NodeId } from './definition.ts';
import { GraphExecution } from './results.ts';

/** Tools of agents beside the methods. */
export const graphOperations = defineOperations({
  'graph.pipeline': {
    summary: 'Runs a graph of tasks at once and returns the outputs of its nodes; an unfinished run continues.',
    callers: ['sessions'],
    tool: { name: 'pipeline', group: 'graph' },
    params: GraphDefinition.extend({ inputs: JsonObject.optional().describe('values of the ${NAME} variables') }),
    result: GraphExecution,
    blobs: ['nodes', 'edges', 'inputs', 'outputs', 'warnings'],
    emits: ['graph:started', 'graph:node_updated', 'graph:completed'],
  },
  'graph.output': {
    summary: 'Reads a part of the output of one node, which may be longer than what a prompt shows.',
    callers: ['sessions'],
    tool: { name: 'graph_output', group: 'graph' },
    params: z.strictObject({ runId: boundedString(MAX.id), nodeId: NodeId, offset: z.int().nonnegative().default(0) }),
    result: z.object({
      text: boundedString(MAX.text),
      totalChars: Count,
      nextOffset: Count.optional().describe('where the next part begins; absent at the end'),
    }),
    blobs: ['text'],
    idempotent: true,
    reads: true,
  },
});
