import { createHash } from 'node:crypto';
import type { AgentConfig, TurnEvidence } from '@switchyard/contracts';

/** A plan that the model announced, as stored in the turn trace. */
export type StepPlan = NonNullable<TurnEvidence['plan']>;

type Sep = AgentConfig['sep'];

/** Maximum characters searched for a plan, which stands at the beginning of the text. */
const MAX_CHARS = 20_000;
const NUMBERED = /^ {0,8}\d{1,3}[.)] +(\S.*)$/;
const BULLETED = /^( {0,8})[-*+•] +(\S.*)$/;
const DIGEST_CHARS = 12;

/** Extracts the steps of a numbered or bulleted list with an allowed number of items. */
export function extractSteps(
  text: string,
  { enabled, minSteps, maxSteps }: Pick<Sep, 'enabled' | 'minSteps' | 'maxSteps'>,
): string[] | undefined {
  if (!enabled) return undefined;
  const lines = text.slice(0, MAX_CHARS).split('\n');
  const numbered = lines.flatMap((line) => NUMBERED.exec(line)?.[1] ?? []);
  const steps = numbered.length >= minSteps ? numbered : topLevelBullets(lines);
  return steps.length >= minSteps && steps.length <= maxSteps ? steps : undefined;
}

/** Nested items explain a step and are not counted. */
function topLevelBullets(lines: readonly string[]): string[] {
  const bullets = lines.flatMap((line) => {
    const [, indent = '', step] = BULLETED.exec(line) ?? [];
    return step === undefined ? [] : [{ indent: indent.length, step }];
  });
  const least = Math.min(...bullets.map(({ indent }) => indent));
  return bullets.filter(({ indent }) => indent === least).map(({ step }) => step);
}

/** Records the plan announced before the first tool calls. Stores only counts and digests. */
export interface PlanTracker {
  /** Adds the text of a step that calls tools. */
  addText: (step: number, text: string) => void;
  /** Returns the plan as of this step. `ended` is set when the turn has an answer. */
  plan: (step: number, ended: boolean) => StepPlan | undefined;
}

/** A resumed turn has already had its first step. */
export function createPlanTracker(sep: Sep, before: number): PlanTracker {
  let first = before === 0;
  let found: { steps: readonly string[]; at: number } | undefined;
  return {
    addText(step, text) {
      const steps = first ? extractSteps(text, sep) : undefined;
      first = false;
      if (steps) found = { steps, at: step };
    },
    plan(step, ended) {
      if (!found) return undefined;
      const { steps, at } = found;
      const after = Math.max(0, step - at);
      const early = sep.verificationNudge && ended && step < steps.length;
      return { steps: steps.length, digests: steps.map(getDigest), after, ...(early ? { early: true } : {}) };
    },
  };
}

function getDigest(text: string): string {
  return createHash('sha256').update(text.trim()).digest('hex').slice(0, DIGEST_CHARS);
}
