import { readConfig } from './node-config.ts';
import { findFailure, getTexts, type NodeDriver, type StepRequest } from './node-driver.ts';

const REDUCE = 'Several agents have worked on the task above. Write the result of the task from their answers.';

/** All mappers work at once, each with its part of the task. The reducer writes the output from their answers. */
export const mapReduceNode: NodeDriver = {
  next(node, ends) {
    const failure = findFailure(ends);
    if (failure) return failure;
    const { mappers, reducer, reducer_prompt: instructions = REDUCE } = readConfig(node, 'map-reduce');
    const reduced = ends[mappers.length];
    if (reduced) return { kind: 'complete', output: reduced.text };
    const steps = mappers.map(({ agent, task_suffix: suffix }, thread): StepRequest => {
      return suffix === undefined ? { agent, thread } : { agent, instructions: suffix, thread };
    });
    if (mappers.some((_, step) => ends[step] === undefined)) return { kind: 'run', steps };
    const material = mappers.map(({ agent }, step) => ({ title: `Answer ${step + 1}, of ${agent}`, text: ends[step]?.text ?? '' }));
    return { kind: 'run', steps: [...steps, { agent: reducer, instructions, material, thread: mappers.length }] };
  },
  getPartialOutput: (_node, ends) => getTexts(ends).join('\n\n'),
};
