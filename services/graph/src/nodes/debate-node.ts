import { readConfig } from './node-config.ts';
import { findFailure, type NodeDriver, type StepEnds, type StepRequest } from './node-driver.ts';

const SPEAK = 'Take part in a debate about the task above. Reply to the contributions so far, and state and defend your own position.';
const SYNTHESIZE = 'The debate about the task above has ended. Write the final answer to the task from its contributions.';

/** Agents speak one after another, each with the contributions so far. A synthesizer, or else the transcript, is the output. */
export const debateNode: NodeDriver = {
  next(node, ends) {
    const failure = findFailure(ends);
    if (failure) return failure;
    const { agents, rounds, synthesizer } = readConfig(node, 'debate');
    const turns = agents.length * rounds;
    const spoken = ends.filter((end) => end !== undefined).length;
    if (spoken > turns) return { kind: 'complete', output: ends[turns]?.text ?? '' };
    if (spoken === turns && synthesizer === undefined) return { kind: 'complete', output: formatTranscript(agents, ends) };
    const steps = Array.from({ length: spoken + 1 }, (_, step): StepRequest => {
      const material = step === 0 ? [] : [{ title: 'Contributions so far', text: formatTranscript(agents, ends.slice(0, step)) }];
      if (step === turns) return { agent: synthesizer, instructions: SYNTHESIZE, material, thread: agents.length };
      return { agent: agents[step % agents.length], instructions: SPEAK, material, thread: step % agents.length };
    });
    return { kind: 'run', steps };
  },
  getPartialOutput: (node, ends) => formatTranscript(readConfig(node, 'debate').agents, ends),
};

function formatTranscript(agents: readonly string[], ends: StepEnds): string {
  return ends
    .flatMap((end, step) => {
      if (end === undefined || end.text === '') return [];
      return [`## ${agents[step % agents.length]}, round ${Math.floor(step / agents.length) + 1}\n\n${end.text}`];
    })
    .join('\n\n');
}
