import { z } from 'zod';
import { IdempotencyKey, JsonObject, NoParams, pageSize } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { GraphDefinition } from './definition.ts';
import {
  GraphCancelled,
  GraphDefined,
  GraphDeleted,
  GraphDiagram,
  GraphExecution,
  GraphList,
  GraphLoaded,
  GraphOutputs,
  GraphRunDeleted,
  GraphRunDetail,
  GraphRunList,
  GraphSaved,
  GraphStatusResult,
} from './results.ts';

const Id = z.string().min(1).max(128);
const SavedName = z.string().min(1).max(200);
const OneGraph = z.strictObject({ graphId: Id });
const OneRun = z.strictObject({ runId: Id });
const OneSaved = z.strictObject({ name: SavedName });

const graphId = 'graph_4fT0mUq2Zs8KxY1bNcVdGh';
const runId = 'run_7pQ2rLw9Xc5VbN3mKjHgFd';
const research = 'Three vendors lead the market.';
const report = '# The market for switches';
const nodes = [
  { node_id: 'research', task: 'Find out who sells ${PRODUCT}.' },
  { node_id: 'report', task: 'Write a page about {{research.result}}', depends_on: ['research'] },
];

export const graphMethods = defineMethods({
  'graph.define': {
    summary: 'Validates a graph of tasks and stores it under a new id.',
    description:
      'Node fields are accepted in snake case and camelCase, agent also as agentId. A node has both type_id and type_config or neither; an invalid config is rejected with the expected form.',
    scope: 'rpc',
    params: GraphDefinition,
    result: GraphDefined,
    blobs: ['nodes', 'edges', 'executionOrder', 'userVariables', 'warnings'],
    errors: ['INVALID_ARGUMENT', 'RESOURCE_EXHAUSTED'],
    examples: [
      {
        params: { label: 'market survey', nodes },
        result: {
          graphId,
          nodeCount: 2,
          executionOrder: ['research', 'report'],
          warnings: [],
          label: 'market survey',
          userVariables: ['PRODUCT'],
        },
      },
      {
        params: {
          nodes: [
            {
              nodeId: 'review',
              task: 'Is the plan sound?',
              agentId: 'default',
              typeId: 'vote',
              typeConfig: { voters: ['default', 'default'] },
            },
          ],
        },
        result: {
          graphId,
          nodeCount: 1,
          executionOrder: ['review'],
          warnings: [{ type: 'typed_node_agentid_ignored', nodeId: 'review', message: 'the agents of a vote are its voters' }],
        },
      },
    ],
  },
  'graph.execute': {
    summary: 'Runs a graph and returns the outputs of its nodes.',
    description:
      'Waits up to 25 seconds. An unfinished run continues, and the result is `running` with the outputs so far. A graph with an approval-gate requires announceChannelType and announceChannelId.',
    scope: 'rpc',
    params: z.strictObject({
      graphId: Id,
      inputs: JsonObject.optional().describe('values of the ${NAME} variables'),
      announceChannelType: z.string().min(1).max(64).optional().describe('channel for approval requests and the final report'),
      announceChannelId: z.string().min(1).max(256).optional(),
      idempotencyKey: IdempotencyKey.optional(),
    }),
    result: GraphExecution,
    blobs: ['inputs', 'outputs', 'warnings'],
    errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'RESOURCE_EXHAUSTED'],
    emits: ['graph:started', 'graph:node_updated', 'graph:completed'],
    examples: [
      {
        params: { graphId, inputs: { PRODUCT: 'railway switches' } },
        result: { graphId, runId, status: 'completed', outputs: { research, report }, warnings: [] },
      },
      {
        params: { graphId, announceChannelType: 'telegram', announceChannelId: '678' },
        result: { graphId, runId, status: 'completed', outputs: { research, report }, warnings: [] },
      },
    ],
  },
  'graph.status': {
    summary: 'Returns the progress of a graph, or lists recent graphs.',
    description: 'A graph id selects its latest run. Outputs are truncated to 500 characters. recentMinutes filters the list.',
    scope: 'rpc',
    params: z.strictObject({ graphId: Id.optional(), recentMinutes: z.number().nonnegative().optional() }),
    result: GraphStatusResult,
    blobs: ['*'],
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { graphId },
        result: {
          graphId,
          runId,
          status: 'completed',
          isTerminal: true,
          executionOrder: ['research', 'report'],
          nodes: {
            research: { status: 'completed', output: research, startedAt: 1763719200000, durationMs: 8200 },
            report: { status: 'completed', output: report, startedAt: 1763719208200, durationMs: 13_200 },
          },
          stats: { total: 2, completed: 2, failed: 0, skipped: 0, running: 0, pending: 0 },
          startedAt: 1763719200000,
        },
      },
      {
        params: { recentMinutes: 60 },
        result: {
          graphs: [{ graphId, label: 'market survey', status: 'running', startedAt: 1763719200000 }],
          concurrency: { globalActiveSubAgents: 1, maxGlobalSubAgents: 20, queueDepth: 0 },
        },
      },
    ],
  },
  'graph.outputs': {
    summary: 'Returns the node outputs of a graph’s latest run.',
    scope: 'rpc',
    params: OneGraph,
    result: GraphOutputs,
    idempotent: true,
    blobs: ['outputs'],
    errors: ['NOT_FOUND'],
    examples: [{ params: { graphId }, result: { graphId, outputs: { research, report }, source: 'disk' } }],
  },
  'graph.cancel': {
    summary: 'Cancels a graph’s latest run: running nodes finish, no further node starts.',
    scope: 'rpc',
    audited: 'destructive',
    params: OneGraph,
    result: GraphCancelled,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['graph:node_updated', 'graph:completed'],
    examples: [{ params: { graphId }, result: { graphId, cancelled: true } }],
  },
  'graph.save': {
    summary: 'Saves a graph’s definition under a name and replaces an existing one.',
    scope: 'rpc',
    params: z.strictObject({ name: SavedName, graphId: Id }),
    result: GraphSaved,
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: { name: 'market-survey', graphId }, result: { name: 'market-survey', saved: true } }],
  },
  'graph.load': {
    summary: 'Creates a graph from a saved definition.',
    scope: 'rpc',
    params: OneSaved,
    result: GraphLoaded,
    errors: ['NOT_FOUND', 'RESOURCE_EXHAUSTED'],
    examples: [{ params: { name: 'market-survey' }, result: { graphId: 'graph_9sD4fGh6JkL2zXc8VbN1mQ', name: 'market-survey' } }],
  },
  'graph.list': {
    summary: 'Lists the saved definitions.',
    scope: 'rpc',
    params: NoParams,
    result: GraphList,
    blobs: ['graphs'],
    idempotent: true,
    examples: [{ params: {}, result: { graphs: [{ name: 'market-survey', createdAt: 1763719200000, nodeCount: 2 }] } }],
  },
  'graph.delete': {
    summary: 'Deletes a saved definition and keeps its runs.',
    scope: 'rpc',
    audited: 'destructive',
    params: OneSaved,
    result: GraphDeleted,
    errors: ['NOT_FOUND'],
    examples: [{ params: { name: 'market-survey' }, result: { name: 'market-survey', deleted: true } }],
  },
  'graph.deleteRun': {
    summary: 'Deletes a finished run with its files.',
    scope: 'rpc',
    audited: 'destructive',
    params: OneRun,
    result: GraphRunDeleted,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    examples: [{ params: { runId }, result: { runId, deleted: true } }],
  },
  'graph.runDetail': {
    summary: 'Returns one run, node by node.',
    scope: 'rpc',
    params: OneRun,
    result: GraphRunDetail,
    idempotent: true,
    blobs: ['nodes'],
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { runId },
        result: {
          runId,
          graphId,
          name: 'market survey',
          status: 'completed',
          startedAt: 1763719200000,
          completedAt: 1763719221400,
          durationMs: 21_400,
          nodes: [
            { nodeId: 'research', status: 'completed', output: research, startedAt: 1763719200000, durationMs: 8200 },
            {
              nodeId: 'report',
              status: 'completed',
              output: report,
              startedAt: 1763719208200,
              durationMs: 13_200,
              artifacts: [{ filename: 'report-output.md', content: report }],
            },
          ],
        },
      },
    ],
  },
  'graph.runs': {
    summary: 'Lists the runs of graphs, newest first.',
    scope: 'rpc',
    params: z.strictObject({ limit: pageSize(50, 500) }),
    result: GraphRunList,
    blobs: ['runs'],
    idempotent: true,
    examples: [
      {
        params: { limit: 10 },
        result: {
          runs: [
            {
              runId,
              graphId,
              name: 'market survey',
              status: 'completed',
              nodeCount: 2,
              startedAt: 1763719200000,
              durationMs: 21_400,
              fileCount: 3,
            },
          ],
        },
      },
    ],
  },
  'graph.resume': {
    summary: 'Continues a failed or cancelled run: completed nodes keep their outputs, all others start again.',
    description: 'Waits like graph.execute. inputs replace those of the same names.',
    scope: 'rpc',
    beyond: true,
    params: z.strictObject({ runId: Id, inputs: JsonObject.optional() }),
    result: GraphExecution,
    blobs: ['inputs', 'outputs', 'warnings'],
    errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
    emits: ['graph:started', 'graph:node_updated', 'graph:completed'],
    examples: [{ params: { runId }, result: { graphId, runId, status: 'completed', outputs: { research, report }, warnings: [] } }],
  },
  'graph.mermaid': {
    summary: 'Returns a Mermaid flowchart of a graph with the states and times of its latest run.',
    scope: 'rpc',
    beyond: true,
    params: OneGraph,
    result: GraphDiagram,
    blobs: ['mermaid'],
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { graphId },
        result: {
          graphId,
          runId,
          mermaid: 'flowchart TD\n  n0["research<br/>completed, 8.2 s"]\n  n1["report<br/>running"]\n  n0 --> n1\n',
        },
      },
    ],
  },
});
