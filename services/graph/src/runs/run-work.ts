import type { Bus } from '@switchyard/bus';
import type { BlobStore } from '@switchyard/blob';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { createWork, newWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import type { OutputDocument, RunDocument, StepDocument } from '../documents/collections.ts';
import { advance, type Advance, type StepRecord, type StepStart } from '../engine/advance.ts';
import { listNodeChanges } from '../engine/node-changes.ts';
import { noSpent, type RunState } from '../engine/run-state.ts';
import { getTimeoutMs } from '../nodes/node-drivers.ts';
import { cancelSteps } from './cancel-steps.ts';
import { readOutput, storeOutput } from './output-files.ts';
import type { OutputText } from './output-text.ts';
import { completedEvent, publishNodeChanges, startedEvent } from './run-events.ts';
import { recordRunEnd } from './run-metrics.ts';
import { buildOrder, buildQuestion } from './step-order.ts';

const MAX_CONCURRENT_RUNS = 64;
const MAX_ATTEMPTS = 20;
/** A run whose wake-up was lost reads its steps after this time. */
const STEP_POLL_INTERVAL_MS = 15_000;
/** A run that has ended waits until it is resumed. */
const NEVER = Number.MAX_SAFE_INTEGER;
/** Most steps of one node: a debate of a hundred agents in five rounds, and its synthesizer. */
const MAX_NODE_STEPS = 501;

export interface GraphLimits {
  /** Nodes of one run that run at once. */
  maxRunning: number;
  maxOutputChars: number;
  /** Model steps of one turn. */
  maxSteps: number;
  /** Delay between the starts of two steps of a run. */
  staggerMs: number;
  /** Longest time of one turn in milliseconds; undefined without a limit. */
  maxTurnMs: number | undefined;
}

export interface RunWorkDeps {
  runs: Collection<RunDocument>;
  steps: Collection<StepDocument>;
  outputs: Collection<OutputDocument>;
  blobs: () => Promise<BlobStore>;
  bus: Bus;
  owner: string;
  /** Timers of the leases and polls; those of the system by default. */
  clock?: Clock;
  now: () => number;
  log: { warn(fields: object, message: string): void };
  limits: () => GraphLimits;
  stepWork: () => Work<StepDocument>;
  /** Called after a run has ended, or a node of an ended run. */
  onEnd: (runId: string) => void;
}

/** Advances runs. While its nodes run, a run is parked and no process holds it. */
export function createRunWork(deps: RunWorkDeps): Work<RunDocument> {
  const { runs, owner, now, log, clock } = deps;
  return createWork<RunDocument>({
    documents: runs,
    owner,
    now,
    ...(clock && { clock }),
    log,
    capacity: () => MAX_CONCURRENT_RUNS,
    run: (lease) => advanceRun(deps, lease),
    poison: {
      maxAttempts: MAX_ATTEMPTS,
      // The run can be resumed once the cause is gone.
      outcome: (document) => ({ parkUntil: NEVER, ...endFields(document, { ...document.run, status: 'failed', completedAt: now() }) }),
    },
  });
}

async function advanceRun(deps: RunWorkDeps, lease: Lease<RunDocument>): Promise<Outcome<RunDocument>> {
  const { document, tenant } = lease;
  const before = document.run;
  if (!Object.values(before.nodes).some(({ status }) => status === 'running') && before.status !== 'running') return { parkUntil: NEVER };
  const stored = await loadSteps(deps, tenant, document);
  const { maxRunning } = deps.limits();
  const next = advance({
    graph: document.definition,
    state: before,
    now: deps.now(),
    steps: toRecords(document, stored),
    cancelRequested: document.cancelRequested,
    maxRunning,
  });
  // Outputs are stored before the state that names them.
  for (const output of next.outputs) await storeOutput(deps, tenant, { runId: document.runId, ...output });
  await cancelSteps(deps, tenant, findAbandoned(document.runId, stored, next));
  if (!lease.isHeld()) return { parkUntil: deps.now() };
  const { set, emit } = describeChange(document, next.state);
  const hasChanged = JSON.stringify(next.state) !== JSON.stringify(before);
  // The state names the steps before they exist, so that a replica that takes over starts them.
  if (hasChanged) await writeState(deps, lease, next.state, { set, emit });
  if (before.status === 'running' && next.state.status !== 'running') recordRunEnd(next.state);
  publishNodeChanges(deps, tenant, document, listNodeChanges(before, next.state));
  if (next.state.status !== 'running') deps.onEnd(document.runId);
  const missing = next.running.filter((start) => isMissing(document, stored.get(getStepId(document.runId, start))));
  if (missing.length > 0) await startSteps(deps, tenant, { run: document, starts: missing, stored, state: next.state });
  return { parkUntil: getParkUntil(deps, next) };
}

/**
 * Returns whether a step has to be added. A replica that died may have stored a step and not announced it, so that its successor adds
 * the steps again that have not started: a stored step is only announced.
 */
function isMissing({ attempts }: RunDocument, step: StepDocument | undefined): boolean {
  return step === undefined || (attempts > 1 && step.state === 'queued');
}

/** Writes a state with its events. After a lost reply the events are not published again if the state is stored. */
async function writeState(
  { runs }: RunWorkDeps,
  lease: Lease<RunDocument>,
  state: RunState,
  { set, emit }: ReturnType<typeof describeChange>,
): Promise<void> {
  let isRepeated = false;
  await lease.persist(async () => {
    const stored = isRepeated ? await runs.for({ tenant: lease.tenant }).get(lease.document.runId) : undefined;
    isRepeated = true;
    const isStored = stored !== undefined && stored !== null && JSON.stringify(stored.run) === JSON.stringify(state);
    await lease.write(isStored ? { set } : { set, emit });
  });
}

function getParkUntil({ now }: RunWorkDeps, { state, running, nextAt }: Advance): number {
  if (state.status !== 'running' && running.length === 0) return NEVER;
  return Math.min(nextAt, now() + STEP_POLL_INTERVAL_MS);
}

/** Returns the fields and the events of a new state. */
function describeChange(document: RunDocument, state: RunState): { set: Partial<RunDocument>; emit: ReturnType<typeof startedEvent>[] } {
  const started = document.started ? [] : [startedEvent(document)];
  const hasEnded = document.run.status === 'running' && state.status !== 'running';
  if (hasEnded) return { ...endFields(document, state), emit: [...started, completedEvent(document, state)] };
  return { set: { run: state, status: state.status, started: true }, emit: started };
}

function endFields(document: RunDocument, state: RunState) {
  const { status, completedAt } = state;
  const set = { run: state, status, started: true, completedAt, cancelRequested: false, liveSlot: undefined };
  return { set, emit: [completedEvent(document, state)] };
}

export function getStepId(runId: string, { nodeId, attempt, step }: Pick<StepStart, 'nodeId' | 'attempt' | 'step'>): string {
  return `${runId}/${nodeId}/${attempt}/${step}`;
}

type StoredSteps = ReadonlyMap<string, StepDocument>;

/** Loads the steps of the nodes that run. */
async function loadSteps({ steps }: RunWorkDeps, tenant: string, { runId, run }: RunDocument): Promise<StoredSteps> {
  const running = Object.entries(run.nodes).filter(([, node]) => node.status === 'running');
  const found = await Promise.all(
    running.map(async ([nodeId, node]) => {
      if (node.steps === 0) return [];
      const ids = Array.from({ length: node.steps }, (_, step) => getStepId(runId, { nodeId, attempt: node.attempt, step }));
      return (await steps.for({ tenant }).find({ stepId: { in: ids } }, { limit: MAX_NODE_STEPS })).items;
    }),
  );
  return new Map(found.flat().map((step) => [step.stepId, step]));
}

function toRecords({ runId, run }: RunDocument, stored: StoredSteps): Record<string, (StepRecord | undefined)[]> {
  const records = Object.entries(run.nodes).map(([nodeId, { steps, attempt }]) => [
    nodeId,
    Array.from({ length: steps }, (_, step) => {
      const document = stored.get(getStepId(runId, { nodeId, attempt, step }));
      return document && toRecord(document);
    }),
  ]);
  return Object.fromEntries(records) as Record<string, (StepRecord | undefined)[]>;
}

function toRecord({ startedAt, finishedAt, text = '', error, permanent, spent = noSpent() }: StepDocument): StepRecord {
  return { startedAt, end: finishedAt === undefined ? undefined : { text, error, permanent, spent } };
}

/** Returns the stored steps that have not ended and whose attempt is over. */
function findAbandoned(runId: string, stored: StoredSteps, next: Advance): StepDocument[] {
  const wanted = new Set(next.running.map((start) => getStepId(runId, start)));
  return [...stored.values()].filter(({ stepId, finishedAt }) => finishedAt === undefined && !wanted.has(stepId));
}

interface StartStepsOptions {
  run: RunDocument;
  starts: readonly StepStart[];
  /** The steps of the nodes that ran before. */
  stored: StoredSteps;
  state: RunState;
}

async function startSteps(deps: RunWorkDeps, tenant: string, { run, starts, stored, state }: StartStepsOptions): Promise<void> {
  const outputs = await loadInputs(deps, tenant, run, starts);
  const { maxOutputChars, maxSteps, maxTurnMs, staggerMs } = deps.limits();
  const firstAt = Math.max(deps.now(), ...[...stored.values()].map(({ createdAt }) => createdAt + staggerMs));
  for (const [at, start] of starts.entries()) {
    const { request } = start;
    const createdAt = firstAt + at * staggerMs;
    const node = run.definition.nodes.find(({ node_id: nodeId }) => nodeId === start.nodeId)!;
    const common = { ...newWork(), stepId: getStepId(run.runId, start), runId: run.runId, principal: run.principal, createdAt };
    if ('ask' in request) {
      await deps.stepWork().add({ tenant }, { ...common, question: buildQuestion({ run, nodeId: start.nodeId, request, outputs }) });
      continue;
    }
    const rest = state.startedAt + state.waitedMs + run.definition.timeoutMs - deps.now();
    const timeoutMs = Math.max(Math.min(getTimeoutMs(node), rest, maxTurnMs ?? Infinity), 1);
    const order = buildOrder({
      run,
      start: { ...start, request },
      outputs,
      maxChars: maxOutputChars,
      maxSteps,
      timeoutMs: Math.ceil(timeoutMs),
    });
    await deps.stepWork().add({ tenant }, { ...common, order }, { dueAt: createdAt });
  }
  deps.stepWork().startDue();
}

/** Loads the outputs of the dependencies of the nodes that start. */
async function loadInputs(
  deps: RunWorkDeps,
  tenant: string,
  run: RunDocument,
  starts: readonly StepStart[],
): Promise<Map<string, OutputText>> {
  const started = new Set(starts.map(({ nodeId }) => nodeId));
  const sources = run.definition.nodes.filter((node) => started.has(node.node_id)).flatMap((node) => node.depends_on);
  if (sources.length === 0) return new Map();
  const ids = [...new Set(sources)].map((nodeId) => `${run.runId}/${nodeId}`);
  const { items } = await deps.outputs.for({ tenant }).find({ outputId: { in: ids } }, { limit: ids.length });
  const { maxOutputChars } = deps.limits();
  const read = items.map(async (item) => [item.nodeId, await readOutput(deps, tenant, item, maxOutputChars)] as const);
  return new Map(await Promise.all(read));
}
