import { createHash } from 'node:crypto';
import type { AgentConfig, TurnEvidence } from '@switchyard/contracts';

/** A plan that the model announced, as stored in the turn trace. */
export type StepPlan = NonNullable<TurnEvidence['plan']>;

type Sep = AgentConfig['sep'];

/** A plan stands at the beginning of what is said; what is longer than this is none. */
const MAX_CHARS = 20_000;
const NUMBERED = /^ {0,8}\d{1,3}[.)] +(\S.*)$/;
const BULLETED = /^( {0,8})[-*+•] +(\S.*)$/;
const DIGEST_CHARS = 12;

/** The steps of a text that is a plan: a list with numbers, or one with bullets, that is neither too short nor too long. */
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

/** What is further in explains a step, and is none. */
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
  /** What a step said that calls tools. */
  addText: (step: number, text: string) => void;
  /** The plan, once the turn came to this step; ended, where it has an answer. */
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
      return { steps: steps.length, digests: steps.map(digestOf), after, ...(early ? { early: true } : {}) };
    },
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text.trim()).digest('hex').slice(0, DIGEST_CHARS);
}
