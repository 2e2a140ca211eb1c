import { findProseFaults } from '../prose/rules.ts';

const MAX_SUBJECT_LENGTH = 72;
const CONVENTIONAL = /^(?:build|chore|ci|docs|feat|fix|move|perf|refactor|revert|style|test)(?:\([\w,./-]+\))?!?: (?<text>.+)$/;
/** Words that cannot begin an imperative sentence. */
const NOT_A_VERB =
  /^(?:a|an|the|this|that|these|those|it|its|what|who|whoever|which|where|when|how|why|of|to|from|for|by|with|in|on|at|as|after|before|no|not|one|all|each|every|some|more|less|only|and|or|but|if|is|are|new|now)$/;
/** Third person, past tense and participles: "adds", "added", "adding". */
const NOT_IMPERATIVE = /(?:[^s]s|ed|ing)$/;
const IMPERATIVES_THAT_LOOK_ALIKE = new Set([
  'embed',
  'feed',
  'need',
  'seed',
  'shed',
  'speed',
  'bring',
  'string',
  'focus',
  'alias',
  'bias',
]);

/** Returns what is wrong with a commit subject, or undefined. Subjects are Conventional Commits in the imperative. */
export function findSubjectFault(subject: string): string | undefined {
  if (subject.length > MAX_SUBJECT_LENGTH) return `has ${subject.length} characters, at most ${MAX_SUBJECT_LENGTH} are allowed`;
  const text = CONVENTIONAL.exec(subject)?.groups?.['text'];
  if (text === undefined) return 'is not a Conventional Commit ("fix(gateway): return 503 while draining")';
  const verb = text.split(/[\s,]/, 1)[0] ?? '';
  if (!/^[a-z][a-z-]*$/.test(verb) || NOT_A_VERB.test(verb)) return `begins with "${verb}", which is not an imperative verb`;
  if (NOT_IMPERATIVE.test(verb) && !IMPERATIVES_THAT_LOOK_ALIKE.has(verb)) return `begins with "${verb}", which is not imperative`;
  const faults = findProseFaults(text, true);
  return faults.length > 0 ? `is hard to read: ${faults.join('; ')}` : undefined;
}
