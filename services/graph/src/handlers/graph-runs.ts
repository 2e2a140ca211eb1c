import type { Handler } from '@switchyard/bus';
import { ServiceError, type Principal } from '@switchyard/contracts';
import type { RunDocument } from '../documents/collections.ts';
import { isComplete, removeOutputs } from '../runs/output-files.ts';
import { getFilename } from '../runs/output-text.ts';
import { readOutputs } from '../runs/run-outputs.ts';
import { describeNode, describeTimes } from '../runs/run-view.ts';
import { canSee, getRun } from './graph-access.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Lists runs, newest first. */
export function graphRuns({ runs }: HandlerDeps): Handler<'graph.runs'> {
  return async ({ limit }, { principal }) => {
    const { items } = await runs.for(principal).find({}, { sort: [['startedAt', 'desc']], limit });
    return { runs: items.filter((run) => canSee(principal, run)).map(toRow) };
  };
}

function toRow(document: RunDocument) {
  const { definition, run } = document;
  const { completedAt: _, ...times } = describeTimes(document);
  const fileCount = Object.values(run.nodes).filter(({ status }) => status === 'completed').length;
  return { ...describeName(document), ...times, nodeCount: definition.nodes.length, fileCount };
}

function describeName({ runId, graphId, definition: { label }, run: { status } }: RunDocument) {
  return { runId, graphId, ...(label === undefined ? {} : { name: label }), status };
}

/** Returns one run with the output of each node, as text and as the file `<node>-output.md`. */
export function graphRunDetail(deps: HandlerDeps): Handler<'graph.runDetail'> {
  return async ({ runId }, { principal }) => {
    const document = await getRun(deps, principal, runId);
    const outputs = await readOutputs(deps, principal, document);
    const missing = await findMissingFiles(deps, principal, document);
    const nodes = document.definition.nodes.map(({ node_id: nodeId }) => {
      const { completedAt: _, ...node } = describeNode(document.run.nodes[nodeId]!);
      const output = outputs[nodeId] ?? null;
      if (output === null) return { nodeId, ...node, output };
      const isMissing = missing.has(nodeId);
      return {
        nodeId,
        ...node,
        output,
        artifacts: [{ filename: getFilename(nodeId), content: output, ...(isMissing && { missing: true as const }) }],
      };
    });
    return { ...describeName(document), ...describeTimes(document), nodes };
  };
}

/** Returns the nodes whose stored output no longer exists completely. */
async function findMissingFiles(deps: HandlerDeps, principal: Principal, { runId, definition }: RunDocument): Promise<Set<string>> {
  const { items } = await deps.outputs.for(principal).find({ runId }, { limit: definition.nodes.length });
  const missing = new Set(definition.nodes.map(({ node_id: nodeId }) => nodeId));
  for (const item of items) if (await isComplete(deps, principal.tenant, item)) missing.delete(item.nodeId);
  return missing;
}

/** Deletes a run that has ended, with its steps and outputs. */
export function graphDeleteRun(deps: HandlerDeps): Handler<'graph.deleteRun'> {
  return async ({ runId }, { principal }) => {
    const { status, run } = await getRun(deps, principal, runId);
    if (status === 'running' || isBusy(run)) throw stillRunning(runId);
    await deps.runs.for(principal).remove({ runId, status: { ne: 'running' } });
    await removeOutputs(deps, principal.tenant, runId);
    await deps.steps.for(principal).remove({ runId });
    return { runId, deleted: true };
  };
}

/** Returns whether nodes of the run still run. Nodes of a cancelled run end by themselves. */
export function isBusy({ nodes }: RunDocument['run']): boolean {
  return Object.values(nodes).some(({ status }) => status === 'running');
}

export function stillRunning(runId: string): ServiceError {
  const message = `The run ${runId} has nodes that run. Cancel it with graph.cancel, or wait until they have ended.`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'RUN_ACTIVE' } });
}
