import type { Tree } from './conversation-tree.ts';
import { second } from '../../output/times.ts';

type Turn = NonNullable<Tree['turns']>[number];
type Evidence = NonNullable<Turn['evidence']>;
type Step = Evidence['steps'][number];
type Tool = NonNullable<Step['tools']>[number];

/** Renders a turn and the model input of each step. The trace has only counts and names, no message text. */
export function describeTurn({ turn, turnId, at, evidence }: Turn): string[] {
  const head = `turn ${turn}  ${second(at)}  ${turnId}`;
  if (evidence === undefined) return [head, '  no model was asked'];
  const { model, before = 0, steps, dropped = 0 } = evidence;
  const told = [...toldOf(evidence), 'the question'];
  const lines: string[] = [];
  let calls = 0;
  for (const step of steps) {
    const given = calls === 0 ? told : [...told, `${calls} ${calls === 1 ? 'call and its result' : 'calls and their results'}`];
    lines.push(`  step ${step.step}  given ${given.join(', ')}`, `          ${answered(step)}`);
    for (const tool of step.tools ?? []) lines.push(`          called ${called(tool)}`);
    calls += (step.tools?.length ?? 0) + (step.moreTools ?? 0);
  }
  return [
    model === undefined ? head : `${head}  ${model}`,
    ...foundIn(evidence),
    ...(before > 0 ? [`  ${before} steps of an earlier run, which left nothing here`] : []),
    ...lines,
    ...(dropped > 0 ? [`  ${dropped} steps more`] : []),
  ];
}

/** Renders findings of input and output screening. */
function foundIn({ screened, output }: Evidence): string[] {
  const told = screened && [...screened.patterns, ...screened.shapes].join(', ');
  return [
    ...(screened ? [`  was told what looks odd, at ${screened.risk} risk: ${told}`] : []),
    ...(output && output.redacted.length > 0 ? [`  said what was taken out: ${output.redacted.join(', ')}`] : []),
    ...(output && output.warned.length > 0 ? [`  said what should be looked at: ${output.warned.join(', ')}`] : []),
  ];
}

/** Lists the context before the message. */
function toldOf({ told, recalled }: Evidence): string[] {
  if (told === undefined) return ['what is not on record'];
  const { messages, turns, summaries, depth, folded, leftOut, tools } = told;
  const from = turns === undefined ? '' : ` of turns ${turns.from} to ${turns.to}`;
  return [
    ...(summaries > 0 ? [`${summaries} summaries for ${folded} messages${depth > 0 ? `, ${depth} deep` : ''}`] : []),
    `${messages} messages${from}`,
    ...(leftOut > 0 ? [`${leftOut} left out`] : []),
    ...(recalled && recalled.count > 0 ? [`${recalled.count} memories`] : []),
    ...(tools > 0 ? [`${tools} tools`] : []),
  ];
}

function answered({ ms, firstMs, chars, input, output, heard = 0 }: Step): string {
  const tokens = input === undefined ? '' : ` of ${input} tokens in and ${output ?? 0} out`;
  const first = firstMs === undefined ? '' : `, the first after ${Math.round(firstMs)}`;
  const others = heard > 0 ? `; heard ${heard} messages of others before` : '';
  return `answered ${chars} characters${tokens} in ${Math.round(ms)} ms${first}${others}`;
}

function called({ name, args, failed, ms, chars, result }: Tool): string {
  const outcome =
    failed === undefined ? 'nothing came of it' : `${failed ? 'failed' : `${chars ?? 0} characters`} in ${Math.round(ms ?? 0)} ms`;
  return `${name} with ${args}: ${outcome}${result === undefined ? '' : `, result ${result}`}`;
}
