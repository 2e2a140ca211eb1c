import type { Tree } from './conversation-tree.ts';
import { second } from '../../output/times.ts';

type Turn = NonNullable<Tree['turns']>[number];
type Evidence = NonNullable<Turn['evidence']>;
type Step = Evidence['steps'][number];
type Tool = NonNullable<Step['tools']>[number];

/** Renders a turn and the model input of each step. The trace has only counts and names, no message text. */
export function describeTurn({ turn, turnId, at, evidence }: Turn): string[] {
  const head = `turn ${turn}  ${second(at)}  ${turnId}`;
  if (evidence === undefined) return [head, '  no model call'];
  const { model, before = 0, steps, dropped = 0 } = evidence;
  const contextParts = [...getTold(evidence), 'the question'];
  const lines: string[] = [];
  let calls = 0;
  for (const step of steps) {
    const inputs =
      calls === 0 ? contextParts : [...contextParts, `${calls} ${calls === 1 ? 'call and its result' : 'calls and their results'}`];
    lines.push(`  step ${step.step}  given ${inputs.join(', ')}`, `          ${formatAnswer(step)}`);
    for (const tool of step.tools ?? []) lines.push(`          called ${called(tool)}`);
    calls += (step.tools?.length ?? 0) + (step.moreTools ?? 0);
  }
  return [
    model === undefined ? head : `${head}  ${model}`,
    ...foundIn(evidence),
    ...(before > 0 ? [`  ${before} steps of an earlier attempt, without details`] : []),
    ...lines,
    ...(dropped > 0 ? [`  ${dropped} steps more`] : []),
  ];
}

/** Renders findings of input and output screening. */
function foundIn({ screened, output }: Evidence): string[] {
  const told = screened && [...screened.patterns, ...screened.shapes].join(', ');
  return [
    ...(screened ? [`  input screening, ${screened.risk} risk: ${told}`] : []),
    ...(output && output.redacted.length > 0 ? [`  removed from the output: ${output.redacted.join(', ')}`] : []),
    ...(output && output.warned.length > 0 ? [`  warnings about the output: ${output.warned.join(', ')}`] : []),
  ];
}

/** Lists the context before the message. */
function getTold({ told, recalled }: Evidence): string[] {
  if (told === undefined) return ['an unrecorded context'];
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

function formatAnswer({ ms, firstMs, chars, input, output, heard: receivedCount = 0 }: Step): string {
  const tokens = input === undefined ? '' : ` of ${input} tokens in and ${output ?? 0} out`;
  const first = firstMs === undefined ? '' : `, the first after ${Math.round(firstMs)}`;
  const others = receivedCount > 0 ? `; ${receivedCount} steering messages before` : '';
  return `answered ${chars} characters${tokens} in ${Math.round(ms)} ms${first}${others}`;
}

function called({ name, args, failed, ms, chars, result }: Tool): string {
  const outcome = failed === undefined ? 'no result' : `${failed ? 'failed' : `${chars ?? 0} characters`} in ${Math.round(ms ?? 0)} ms`;
  return `${name} with ${args}: ${outcome}${result === undefined ? '' : `, result ${result}`}`;
}
