import type { GraphNode } from '@switchyard/contracts';
import { readConfig } from './node-config.ts';
import { findFailure, getTexts, type NodeDriver, type StepRequest } from './node-driver.ts';

/** A plain node or an `agent` node: one turn, whose answer is the output. */
export const agentNode: NodeDriver = {
  next(node, ends) {
    const [end] = ends;
    if (!end) return { kind: 'run', steps: [getStep(node)] };
    return findFailure(ends) ?? { kind: 'complete', output: end.text };
  },
  getPartialOutput: (_node, ends) => getTexts(ends).join(''),
};

function getStep(node: GraphNode): StepRequest {
  if (node.type_id === undefined) return { agent: node.agent, model: node.model, maxSteps: node.max_steps, thread: 0 };
  const { agent, model = node.model, max_steps: maxSteps = node.max_steps } = readConfig(node, 'agent');
  return { agent, model, maxSteps, thread: 0 };
}
