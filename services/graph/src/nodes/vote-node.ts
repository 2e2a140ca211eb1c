import { readConfig } from './node-config.ts';
import type { NodeDriver, StepEnds } from './node-driver.ts';

/** The last line of this form in an answer is its verdict. */
const VERDICT = /^[*_`>\s]*verdict[*_`\s]*:[*_`\s]*(.+?)[*_`\s.]*$/gim;
const MAX_VERDICT_CHARS = 200;

/** All voters answer at once. Their verdicts are counted; the node fails if fewer than `min_voters` have answered. */
export const voteNode: NodeDriver = {
  next(node, ends) {
    const { voters, prompt_suffix: suffix, verdict_format: format = 'approve or reject', min_voters: required } = readConfig(node, 'vote');
    const min = Math.min(required ?? voters.length, voters.length);
    const failed = ends.filter((end) => end?.error !== undefined);
    if (voters.length - failed.length < min) {
      const error = `${failed.length} of ${voters.length} voters failed, and ${min} have to vote: ${failed[0]?.error}`;
      return { kind: 'fail', error, ...(failed.every((end) => end?.permanent === true) && { permanent: true }) };
    }
    if (voters.every((_, step) => ends[step] !== undefined)) return { kind: 'complete', output: formatVotes(voters, ends) };
    const form = `End your answer with one line of the form "VERDICT: <verdict>", where the verdict is: ${format}`;
    const instructions = suffix === undefined ? form : `${suffix}\n\n${form}`;
    return { kind: 'run', steps: voters.map((agent, thread) => ({ agent, instructions, thread })) };
  },
  getPartialOutput: (node, ends) => formatVotes(readConfig(node, 'vote').voters, ends),
};

function formatVotes(voters: readonly string[], ends: StepEnds): string {
  const votes = voters.flatMap((voter, step) => {
    const end = ends[step];
    return end === undefined || end.error !== undefined ? [] : [{ voter, text: end.text, verdict: findVerdict(end.text) }];
  });
  if (votes.length === 0) return '';
  const counts = Object.entries(Object.groupBy(votes, ({ verdict }) => verdict))
    .map(([verdict, group = []]) => `- ${verdict}: ${group.length}`)
    .toSorted();
  const texts = votes.map(({ voter, text }) => `## ${voter}\n\n${text}`);
  return [`# ${votes.length} of ${voters.length} voters`, counts.join('\n'), ...texts].join('\n\n');
}

/** Returns the verdict of an answer in lower case, or `no verdict`. */
export function findVerdict(text: string): string {
  const found = [...text.matchAll(VERDICT)].at(-1)?.[1];
  return found === undefined ? 'no verdict' : found.slice(0, MAX_VERDICT_CHARS).toLowerCase();
}
