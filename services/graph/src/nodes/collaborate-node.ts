import { readConfig } from './node-config.ts';
import { findFailure, getTexts, type NodeDriver, type StepRequest } from './node-driver.ts';

const CONTRIBUTE = 'Several agents write the result of the task above together. Add your part, and do not repeat the parts so far.';

/** Agents add parts one after another. The joined parts are the output. */
export const collaborateNode: NodeDriver = {
  next(node, ends) {
    const failure = findFailure(ends);
    if (failure) return failure;
    const { agents, rounds } = readConfig(node, 'collaborate');
    const ended = ends.filter((end) => end !== undefined).length;
    if (ended >= agents.length * rounds) return { kind: 'complete', output: getTexts(ends).join('\n\n') };
    const steps = Array.from({ length: ended + 1 }, (_, step): StepRequest => {
      const parts = getTexts(ends.slice(0, step)).join('\n\n');
      const material = parts === '' ? [] : [{ title: 'Parts so far', text: parts }];
      return { agent: agents[step % agents.length], instructions: CONTRIBUTE, material, thread: step % agents.length };
    });
    return { kind: 'run', steps };
  },
  getPartialOutput: (_node, ends) => getTexts(ends).join('\n\n'),
};
