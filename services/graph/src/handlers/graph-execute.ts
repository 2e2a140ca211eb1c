import type { Handler } from '@switchyard/bus';
import { ServiceError, type GraphWarning, type Input, type Principal, type Result } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { toStoredPrincipal } from '@switchyard/service-kit';
import { newWork } from '@switchyard/work';
import { findUnresolvedVariables } from '../definition/warnings.ts';
import type { GraphDocument, RunDocument } from '../documents/collections.ts';
import { newRunState } from '../engine/run-state.ts';
import { writeWithSlot } from '../runs/live-slots.ts';
import { readOutputs } from '../runs/run-outputs.ts';
import { getGraph, getRun } from './graph-access.ts';
import type { HandlerDeps } from './handler-deps.ts';
import { readInputs } from './read-inputs.ts';

const MAX_WAIT_MS = 25_000;

/** Starts a run and waits for it. A run that takes longer goes on, and the answer has the outputs so far. */
export function graphExecute(deps: HandlerDeps): Handler<'graph.execute'> {
  return async (request, { principal, signal }) => {
    const graph = await getGraph(deps, principal, request.graphId);
    return executeGraph(deps, principal, { graph, request, signal });
  };
}

interface ExecuteGraphOptions {
  graph: GraphDocument;
  request: Input<'graph.execute'>;
  signal: AbortSignal;
}

export async function executeGraph(
  deps: HandlerDeps,
  principal: Principal,
  { graph, request, signal }: ExecuteGraphOptions,
): Promise<Result<'graph.execute'>> {
  const inputs = readInputs(request.inputs);
  const { runId } = await startRun(deps, principal, { graph, request, inputs });
  const warnings = [...graph.warnings, ...findUnresolvedVariables(graph.definition.nodes, inputs)];
  return awaitRun(deps, principal, { runId, warnings, signal });
}

interface AwaitRunOptions {
  runId: string;
  warnings: GraphWarning[];
  signal: AbortSignal;
}

/** Waits until a run has ended, for a bounded time, and returns its outputs so far. */
export async function awaitRun(
  deps: HandlerDeps,
  principal: Principal,
  { runId, warnings, signal }: AwaitRunOptions,
): Promise<Result<'graph.execute'>> {
  const run = await deps.waiters.wait(runId, {
    read: () => getRun(deps, principal, runId),
    isDone: ({ status }) => status !== 'running',
    waitMs: MAX_WAIT_MS,
    signal,
  });
  return { graphId: run.graphId, runId, status: run.run.status, outputs: await readOutputs(deps, principal, run), warnings };
}

interface StartRunOptions {
  graph: GraphDocument;
  request: Input<'graph.execute'>;
  inputs: Record<string, string>;
}

/** Inserts a run and starts it. The same idempotency key of a client returns the same run. */
async function startRun(deps: HandlerDeps, principal: Principal, { graph, request, inputs }: StartRunOptions): Promise<RunDocument> {
  const { graphId, definition } = graph;
  const { announceChannelType: channelType, announceChannelId: channelId, idempotencyKey } = request;
  const hasGate = definition.nodes.some(({ type_id: type }) => type === 'approval-gate');
  if (hasGate && (channelType === undefined || channelId === undefined)) throw missingChannel();
  const startedAt = deps.now();
  const agentId = principal.agent ?? principal.agents?.[0];
  const run: RunDocument = {
    ...newWork(),
    runId: mintId('run'),
    graphId,
    principal: toStoredPrincipal(principal),
    client: principal.client,
    ...(agentId === undefined ? {} : { agentId }),
    definition,
    inputs,
    ...(channelType === undefined || channelId === undefined ? {} : { announce: { channelType, channelId } }),
    run: newRunState(definition, startedAt),
    status: 'running',
    started: false,
    cancelRequested: false,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    startedAt,
  };
  const fingerprint = JSON.stringify([graphId, inputs, channelType ?? null, channelId ?? null]);
  const key = idempotencyKey === undefined ? {} : ({ key: ['client', 'idempotencyKey'], fingerprint } as const);
  const isRepeated = await hasRun(deps, principal, idempotencyKey);
  const { document } = isRepeated
    ? await deps.runWork.add(principal, run, key)
    : await writeWithSlot(deps, principal, (liveSlot) => deps.runWork.add(principal, { ...run, liveSlot }, key));
  await deps.graphs.for(principal).update({ graphId }, { set: { usedAt: startedAt } });
  deps.runWork.startDue();
  return document;
}

/** Returns whether a call with this key has started a run, which a repetition returns although the tenant has no room for another one. */
async function hasRun({ runs }: HandlerDeps, principal: Principal, idempotencyKey: string | undefined): Promise<boolean> {
  if (idempotencyKey === undefined) return false;
  return (await runs.for(principal).count({ client: principal.client, idempotencyKey })) > 0;
}

function missingChannel(): ServiceError {
  const message = 'The graph has an approval-gate. Pass announceChannelType and announceChannelId, the channel that asks for approval.';
  return new ServiceError('INVALID_ARGUMENT', message, { details: { reason: 'ANNOUNCE_CHANNEL' } });
}
