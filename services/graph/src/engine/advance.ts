import type { GraphDefinition, GraphNode } from '@switchyard/contracts';
import type { NodeCommand, StepEnd, StepRequest } from '../nodes/node-driver.ts';
import { getDriver, getRetries, getTimeoutMs } from '../nodes/node-drivers.ts';
import { getReadiness } from './readiness.ts';
import { addSpent, isTerminal, noSpent, type NodeRun, type RunState, type Spent } from './run-state.ts';

/** Steps of one node that run at once. */
const MAX_PARALLEL_STEPS = 10;
/** A failed attempt with an output longer than this has completed. */
const MIN_PARTIAL_CHARS = 500;
const MAX_BACKOFF_MS = 30_000;

/** A started step of a running node, as it is stored. */
export interface StepRecord {
  /** When its turn was ordered; absent while it waits for a slot. */
  startedAt?: number | undefined;
  end?: (StepEnd & { spent: Spent }) | undefined;
}

export interface AdvanceOptions {
  graph: GraphDefinition;
  state: RunState;
  now: number;
  /** The steps of the running nodes in order; undefined for a step that is not stored yet. */
  steps: Readonly<Record<string, readonly (StepRecord | undefined)[]>>;
  cancelRequested: boolean;
  /** Nodes that run at once. */
  maxRunning: number;
}

/** A step that runs, or shall run. */
export interface StepStart {
  nodeId: string;
  attempt: number;
  step: number;
  request: StepRequest | { ask: string; timeoutMs: number };
}

export interface Advance {
  state: RunState;
  /** Outputs of nodes that completed. */
  outputs: readonly { nodeId: string; text: string }[];
  /** Steps of running nodes that have not ended. The caller starts those that are not stored. */
  running: readonly StepStart[];
  /** The next time at which a delay or a time limit ends; Infinity without any. */
  nextAt: number;
}

/**
 * Returns the next state of a run. It is a pure function of the stored state, the stored steps and the time, so that a replica that takes
 * over decides like the one before.
 */
export function advance(options: AdvanceOptions): Advance {
  return new RunMachine(options).advance();
}

class RunMachine {
  private readonly options: AdvanceOptions;
  private readonly state: RunState;
  private readonly outputs: { nodeId: string; text: string }[] = [];
  private readonly running: StepStart[] = [];
  private nextAt = Infinity;

  constructor(options: AdvanceOptions) {
    this.options = options;
    this.state = structuredClone(options.state);
  }

  advance(): Advance {
    const { state } = this;
    for (const node of this.options.graph.nodes) if (this.get(node).status === 'running') this.advanceNode(node);
    if (state.status === 'running') this.checkLimits();
    while (this.startNodes()) continue;
    if (state.status === 'running' && Object.values(state.nodes).every(isTerminal)) this.end(this.getFinalStatus());
    this.trackWaiting();
    return { state, outputs: this.outputs, running: this.running, nextAt: this.nextAt };
  }

  private get({ node_id: nodeId }: GraphNode): NodeRun {
    return this.state.nodes[nodeId]!;
  }

  private getSteps(node: GraphNode): (StepRecord | undefined)[] {
    const records = this.options.steps[node.node_id] ?? [];
    return Array.from({ length: this.get(node).steps }, (_, step) => records[step]);
  }

  /** Asks the driver of a running node what it does next. */
  private advanceNode(node: GraphNode): void {
    const records = this.getSteps(node);
    const ends = records.map((record) => record?.end);
    const command = getDriver(node).next(node, ends);
    if (command.kind === 'complete') return this.complete(node, command.output);
    if (command.kind === 'fail') return this.fail(node, command);
    const startedAt = Math.min(...records.map((record) => record?.startedAt ?? Infinity));
    const deadline = startedAt + getTimeoutMs(node);
    if (deadline <= this.options.now) return this.fail(node, { error: `the node exceeded its timeout of ${getTimeoutMs(node)} ms` });
    this.nextAt = Math.min(this.nextAt, deadline);
    this.startSteps(node, command);
  }

  private startSteps(node: GraphNode, command: Extract<NodeCommand, { kind: 'run' | 'ask' }>): void {
    const run = this.get(node);
    const records = this.getSteps(node);
    const ended = records.filter((record) => record?.end !== undefined).length;
    const requests = command.kind === 'run' ? command.steps : [{ ask: command.message, timeoutMs: command.timeoutMs }];
    run.steps = Math.max(run.steps, Math.min(requests.length, ended + MAX_PARALLEL_STEPS));
    for (const [step, request] of requests.slice(0, run.steps).entries())
      if (records[step]?.end === undefined) this.running.push({ nodeId: node.node_id, attempt: run.attempt, step, request });
  }

  /** Adds what the current attempt has used to the sum, once. */
  private settle(node: GraphNode): void {
    for (const record of this.getSteps(node)) if (record?.end) this.state.spent = addSpent(this.state.spent, record.end.spent);
  }

  private complete(node: GraphNode, text: string, partial?: true): void {
    const run = this.get(node);
    this.settle(node);
    this.outputs.push({ nodeId: node.node_id, text });
    Object.assign(run, { status: 'completed', completedAt: this.options.now, ...(partial && { partial }) });
    if (!partial) delete run.error;
  }

  private fail(node: GraphNode, { error, permanent = false }: { error: string; permanent?: boolean }): void {
    const run = this.get(node);
    const partial = getDriver(node).getPartialOutput(
      node,
      this.getSteps(node).map((record) => record?.end),
    );
    run.error = error;
    if (partial.length > MIN_PARTIAL_CHARS) return this.complete(node, partial, true);
    this.settle(node);
    run.failures += 1;
    const { status } = this.state;
    if (status !== 'running' || permanent || run.failures > getRetries(node)) return this.endNode(run, 'failed', error);
    run.status = 'ready';
    run.readyAt = this.options.now + Math.min(1_000 * 2 ** (run.failures - 1), MAX_BACKOFF_MS);
  }

  private endNode(run: NodeRun, status: 'failed' | 'skipped', error: string): void {
    Object.assign(run, { status, error, completedAt: this.options.now });
    delete run.readyAt;
  }

  /** Ends the run if it was cancelled or has used up its time or its budget. */
  private checkLimits(): void {
    const { graph, now, cancelRequested } = this.options;
    const { state } = this;
    if (Object.values(state.nodes).every(isTerminal)) return;
    const deadline = state.waitingSince === undefined ? state.startedAt + graph.timeoutMs + state.waitedMs : Infinity;
    const { maxTokens = Infinity, maxCost = Infinity } = graph.budget ?? {};
    const spent = this.getSpent();
    if (cancelRequested) this.stop('manual', 'the run was cancelled');
    else if (deadline <= now) this.stop('timeout', `the run exceeded its timeout of ${graph.timeoutMs} ms`);
    else if (spent.tokens > maxTokens) this.stop('budget', `the run exceeded its budget of ${maxTokens} tokens`);
    else if (spent.costUsd > maxCost) this.stop('budget', `the run exceeded its budget of ${maxCost} US dollars`);
    else this.nextAt = Math.min(this.nextAt, deadline);
  }

  /** Returns the use of all ended steps. */
  private getSpent(): Spent {
    const open = this.options.graph.nodes.filter((node) => this.get(node).status === 'running');
    const ends = open.flatMap((node) => this.getSteps(node).flatMap((record) => record?.end?.spent ?? []));
    return ends.reduce(addSpent, addSpent(this.state.spent, noSpent()));
  }

  /** Skips all nodes that do not run. A cancelled run lets the running nodes end, others stop them. */
  private stop(reason: 'timeout' | 'budget' | 'manual', error: string): void {
    for (const node of this.options.graph.nodes) {
      const run = this.get(node);
      const keepsRunning = reason === 'manual' && node.type_id !== 'approval-gate';
      if (run.status === 'pending' || run.status === 'ready') this.endNode(run, 'skipped', error);
      else if (run.status === 'running' && !keepsRunning) this.stopNode(node, error);
    }
    this.state.cancelReason = reason;
    this.end(reason === 'manual' ? 'cancelled' : 'failed');
  }

  private stopNode(node: GraphNode, error: string): void {
    this.settle(node);
    this.endNode(this.get(node), 'failed', error);
    this.dropSteps(node);
  }

  private dropSteps({ node_id: nodeId }: GraphNode): void {
    for (let at = this.running.length - 1; at >= 0; at -= 1) if (this.running[at]?.nodeId === nodeId) this.running.splice(at, 1);
  }

  /** Moves nodes that may start, or cannot start any more. Returns whether a node changed. */
  private startNodes(): boolean {
    const { graph, now, maxRunning } = this.options;
    let changed = false;
    for (const node of graph.nodes) {
      const run = this.get(node);
      if (run.status === 'pending') changed = this.resolvePending(node, run) || changed;
      if (run.status !== 'ready') continue;
      const { readyAt = 0 } = run;
      if (readyAt > now) this.nextAt = Math.min(this.nextAt, readyAt);
      else if (this.countRunning() < maxRunning) changed = this.start(node, run);
    }
    return changed;
  }

  private resolvePending(node: GraphNode, run: NodeRun): boolean {
    const readiness = getReadiness(node, this.state.nodes, this.options.graph.onFailure);
    if (readiness === 'ready') run.status = 'ready';
    else if (readiness === 'unreachable') this.endNode(run, 'skipped', 'a node that it depends on failed or was skipped');
    return readiness !== 'waiting';
  }

  private start(node: GraphNode, run: NodeRun): true {
    Object.assign(run, { status: 'running', attempt: run.attempt + 1, steps: 0, startedAt: run.startedAt ?? this.options.now });
    delete run.readyAt;
    this.advanceNode(node);
    return true;
  }

  private countRunning(): number {
    return Object.values(this.state.nodes).filter(({ status }) => status === 'running').length;
  }

  /** A run has completed if every node that no other node depends on has completed. */
  private getFinalStatus(): 'completed' | 'failed' {
    const { nodes } = this.options.graph;
    const required = new Set(nodes.flatMap(({ depends_on: dependsOn }) => dependsOn));
    const leaves = nodes.filter(({ node_id: nodeId }) => !required.has(nodeId));
    return leaves.every((node) => this.get(node).status === 'completed') ? 'completed' : 'failed';
  }

  private end(status: RunState['status']): void {
    this.state.status = status;
    this.state.completedAt = this.options.now;
  }

  /** Counts the time in which an approval gate waits. */
  private trackWaiting(): void {
    const { state } = this;
    const waits = this.running.some(({ request }) => 'ask' in request);
    if (waits) state.waitingSince ??= this.options.now;
    else if (state.waitingSince !== undefined) {
      state.waitedMs += this.options.now - state.waitingSince;
      delete state.waitingSince;
    }
  }
}
