import type { Input } from '@switchyard/contracts';
import { expandTask } from '../definition/templates.ts';
import type { StepStart } from '../engine/advance.ts';
import type { RunDocument } from '../documents/collections.ts';
import type { StepQuestion } from '../documents/step-question.ts';
import type { Material, StepRequest } from '../nodes/node-driver.ts';
import { neutralize, truncateOutput, type OutputText } from './output-text.ts';

/** Entries of `context` in one turn. */
const MAX_CONTEXT_ENTRIES = 10;
const SUMMARY_CHARS = 500;
/** Characters of an output in the question of an approval gate. */
const MAX_QUESTION_CHARS = 2_000;
/** Tools that start runs. A node that executes graphs could do so without end. */
const RUN_TOOLS = ['graph_execute', 'graph_resume', 'pipeline'];

/** The part of an order that depends on the step. */
export type StepOrder = Pick<Input<'turns.order'>, 'message' | 'agentId' | 'model' | 'context' | 'limits' | 'tools' | 'timeoutMs'> & {
  threadId: string;
};

export interface BuildOrderOptions {
  run: RunDocument;
  start: StepStart & { request: StepRequest };
  /** Outputs of the dependencies of the node. */
  outputs: ReadonlyMap<string, OutputText>;
  /** Characters of an output in a prompt. */
  maxChars: number;
  maxSteps: number;
  /** Time limit of the turn. */
  timeoutMs: number | undefined;
}

/** Returns the order of a step: the task as message, and the material of other nodes and steps as untrusted context. */
export function buildOrder({ run, start, outputs, maxChars, maxSteps, timeoutMs }: BuildOrderOptions): StepOrder {
  const { nodes } = run.definition;
  const { nodeId, request } = start;
  const index = nodes.findIndex((node) => node.node_id === nodeId);
  const node = nodes[index]!;
  const cut = (source: string, output: OutputText): string => truncateOutput(output, { maxChars, runId: run.runId, nodeId: source });
  const getOutput = (source: string): string | undefined => {
    const output = node.depends_on.includes(source) ? outputs.get(source) : undefined;
    return output === undefined ? undefined : neutralize(cut(source, output));
  };
  const task = expandTask(node.task, { getOutput, inputs: run.inputs });
  const lost = node.depends_on.filter((source) => !outputs.has(source));
  const label = run.definition.label === undefined ? '' : ` of the graph "${run.definition.label}"`;
  const message = [
    `You work on the node ${nodeId} (${index + 1} of ${nodes.length})${label}.`,
    ...(lost.length === 0 ? [] : [`These nodes have no output, because they failed or were skipped: ${lost.join(', ')}.`]),
    task,
    ...(request.instructions === undefined ? [] : [request.instructions]),
  ].join('\n\n');
  const upstream = node.depends_on.flatMap((source): Material[] => {
    const output = outputs.get(source);
    if (output === undefined || node.context_mode === 'none') return [];
    return [
      { title: `Output of ${source}`, text: describeOutput(node.context_mode, { runId: run.runId, nodeId: source, output, maxChars }) },
    ];
  });
  const own = (request.material ?? []).map(({ title, text }) => ({
    title,
    text: cut(nodeId, { text, totalChars: text.length, isMissing: false }),
  }));
  const context = mergeMaterial([...upstream, ...own]);
  const agentId = request.agent ?? run.agentId;
  const limit = request.maxSteps ?? maxSteps;
  return {
    message,
    threadId: `${index}.${request.thread}`,
    ...(agentId === undefined ? {} : { agentId }),
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(context.length === 0 ? {} : { context }),
    limits: { steps: limit },
    tools: { deny: [...RUN_TOOLS], ...(node.mcp_servers === undefined ? {} : { mcpServers: node.mcp_servers }) },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

export interface BuildQuestionOptions {
  run: RunDocument;
  nodeId: string;
  request: { ask: string; timeoutMs: number };
  outputs: ReadonlyMap<string, OutputText>;
}

/** Returns the question of an approval gate, with the inputs and the beginnings of the outputs that its message names. */
export function buildQuestion({ run, nodeId, request: { ask, timeoutMs }, outputs }: BuildQuestionOptions): StepQuestion {
  const { agentId, announce = { channelType: 'gateway', channelId: run.runId } } = run;
  const { depends_on: dependsOn = [] } = run.definition.nodes.find((node) => node.node_id === nodeId) ?? {};
  const getOutput = (source: string): string | undefined => {
    const output = dependsOn.includes(source) ? outputs.get(source) : undefined;
    return output === undefined ? undefined : truncateOutput(output, { maxChars: MAX_QUESTION_CHARS, runId: run.runId, nodeId: source });
  };
  const message = expandTask(ask, { getOutput, inputs: run.inputs });
  return { message, timeoutMs, ...announce, ...(agentId === undefined ? {} : { agentId }) };
}

interface DescribeOutputOptions {
  runId: string;
  nodeId: string;
  output: OutputText;
  maxChars: number;
}

function describeOutput(mode: 'full' | 'summary' | 'refs', { runId, nodeId, output, maxChars }: DescribeOutputOptions): string {
  if (mode === 'full') return truncateOutput(output, { maxChars, runId, nodeId });
  return truncateOutput(output, { maxChars: mode === 'summary' ? SUMMARY_CHARS : 0, runId, nodeId, always: true });
}

/** Joins the last entries if there are more than a turn may have. */
function mergeMaterial(material: readonly Material[]): Material[] {
  if (material.length <= MAX_CONTEXT_ENTRIES) return [...material];
  const rest = material.slice(MAX_CONTEXT_ENTRIES - 1);
  const text = rest.map((one) => `# ${one.title}\n\n${one.text}`).join('\n\n');
  return [...material.slice(0, MAX_CONTEXT_ENTRIES - 1), { title: 'Further outputs', text }];
}
