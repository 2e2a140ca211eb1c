import { readConfig } from './node-config.ts';
import { findFailure, getTexts, type NodeDriver, type StepRequest } from './node-driver.ts';

const IMPROVE = 'The text of the previous author is your draft. Improve it, and answer with the complete new text only.';

/** Each reviewer improves the text of the one before. The last text is the output. */
export const refineNode: NodeDriver = {
  next(node, ends) {
    const failure = findFailure(ends);
    if (failure) return failure;
    const { reviewers } = readConfig(node, 'refine');
    const ended = ends.filter((end) => end !== undefined).length;
    if (ended >= reviewers.length) return { kind: 'complete', output: ends.at(-1)?.text ?? '' };
    const steps = reviewers.slice(0, ended + 1).map((agent, step): StepRequest => {
      const draft = getTexts(ends.slice(0, step)).at(-1);
      return draft === undefined
        ? { agent, thread: step }
        : { agent, instructions: IMPROVE, material: [{ title: 'Draft', text: draft }], thread: step };
    });
    return { kind: 'run', steps };
  },
  getPartialOutput: (_node, ends) => getTexts(ends).at(-1) ?? '',
};
