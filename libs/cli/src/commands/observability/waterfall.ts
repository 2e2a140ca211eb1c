import type { CallResult } from '@switchyard/client';
import { dollars } from './report-command.ts';

type Step = NonNullable<CallResult<'obs.explain'>['waterfall']>[number];

const BAR_CHARS = 40;

/** Draws the steps of a turn as bars on one time axis, with the tools of each step. */
export function drawWaterfall(steps: readonly Step[]): string {
  const spans = toSpans(steps);
  const total = Math.max(1, ...spans.map(({ start, step }) => start + step.durationMs));
  return spans.map(({ start, step }) => drawStep(step, { start, total })).join('');
}

/** Steps that were recorded without a start follow each other. */
function toSpans(steps: readonly Step[]): { start: number; step: Step }[] {
  let end = 0;
  return steps.map((step) => {
    const start = step.startMs ?? end;
    end = start + step.durationMs;
    return { start, step };
  });
}

/** The cost of a step, its model, and what was unusual about its calls. */
function describeCalls({ costUsd, model, fallback, calls, retries, budget }: Step): string {
  const parts = [
    costUsd === undefined ? undefined : dollars(costUsd),
    model,
    fallback === undefined ? undefined : 'fallback',
    calls === undefined ? undefined : `${calls} calls`,
    retries === undefined ? undefined : `${retries} ${retries === 1 ? 'retry' : 'retries'}`,
    budget === undefined ? undefined : describeBudget(budget),
  ];
  return parts
    .filter((part) => part !== undefined)
    .map((part) => `  ${part}`)
    .join('');
}

/** The budget of the turn that was left when the step called its model. */
function describeBudget({ leftTokens, leftUsd }: NonNullable<Step['budget']>): string {
  return `budget ${leftTokens} tokens${leftUsd === undefined ? '' : ` and ${dollars(leftUsd)}`} left`;
}

function drawStep(step: Step, { start, total }: { start: number; total: number }): string {
  const offset = Math.min(BAR_CHARS - 1, Math.floor((start / total) * BAR_CHARS));
  const width = Math.max(1, Math.min(BAR_CHARS - offset, Math.round((step.durationMs / total) * BAR_CHARS)));
  const bar = `${' '.repeat(offset)}${'█'.repeat(width)}`.padEnd(BAR_CHARS);
  const { inputTokens, outputTokens } = step;
  const tokens = inputTokens === undefined ? '' : `  ${inputTokens} in, ${outputTokens ?? 0} out`;
  const line = `  step ${String(step.step).padStart(2)}  ${bar}  ${step.durationMs} ms${tokens}${describeCalls(step)}`;
  const tools = step.tools.map(({ name, durationMs, failed }) => {
    const state = failed === undefined ? 'no result' : failed ? 'failed' : 'ok';
    return `           ${name}  ${state}${durationMs === undefined ? '' : `  ${durationMs} ms`}\n`;
  });
  return `${line}\n${tools.join('')}`;
}
