import { ServiceError } from '@switchyard/contracts';
import type { ModelMessage, ModelUsage } from '@switchyard/models';
import { reserve } from './budget-reservation.ts';
import type { Asking } from '../agents/model-access.ts';
import { LEFT_ALONE, modelStep, NO_ANSWER, type AskedFor, type Said } from './model-call.ts';
import type { TurnPlan } from './turn-plan.ts';

const GO_ON = 'Your answer was cut off because it was too long. Go on exactly where it ends, and repeat nothing of it.';

/**
 * Requests the rest of a truncated answer with a higher output limit. Streamed text is kept: the model continues after it, or starts again
 * if there is none. On failure the truncated answer is returned.
 */
export async function wholeAnswer(
  models: Asking,
  plan: TurnPlan,
  { said, asked }: { said: Said; asked: Pick<AskedFor, 'messages' | 'left' | 'say'> },
): Promise<Said> {
  const { format, maxOutputTokens = 0, signal } = plan;
  // A truncated JSON answer cannot be continued, because the second part would be a separate document.
  const most = format === undefined || said.text === '' ? await plan.escalateTo?.() : undefined;
  if (most === undefined || most <= maxOutputTokens) return said;
  const messages = said.text === '' ? asked.messages : [...asked.messages, ...cutAt(said.text)];
  let told = false;
  const say = (piece: string): string => {
    told = true;
    return asked.say(piece);
  };
  try {
    const reserved = await reserve({ ...plan, maxOutputTokens: most }, messages, true);
    if (reserved === 'exceeded') return said;
    const left = asked.left - said.usage.input - said.usage.output;
    const more = await modelStep(models, plan, { messages, left, reserved, begun: true, maxOutputTokens: most, say });
    return more === LEFT_ALONE ? said : joined(said, more);
  } catch (error) {
    if (told || signal.aborted || !(error instanceof ServiceError)) throw error;
    return said;
  }
}

function cutAt(text: string): ModelMessage[] {
  return [
    { role: 'assistant', text },
    { role: 'user', text: GO_ON },
  ];
}

function joined(first: Said, second: Said): Said {
  return {
    ...second,
    text: first.text + second.text,
    usage: sumOf(first.usage, second.usage),
    costUsd: first.costUsd + second.costUsd,
  };
}

function sumOf(one: ModelUsage, other: ModelUsage): ModelUsage {
  const sum = (name: keyof ModelUsage): number => (one[name] ?? 0) + (other[name] ?? 0);
  return { input: sum('input'), output: sum('output'), cacheRead: sum('cacheRead'), cacheWrite: sum('cacheWrite') };
}

/** Sent when the model returns nothing after tool results. */
const DIRECTIVE = 'You used tools, and then said nothing. Do what is left to be done, or give your answer.';
/** Sent as the last attempt. */
const SYNTHESIS = 'Give your answer now, from what you have been told until here. You can call nothing any more.';

/** Retries of a model that returns nothing after tool results. */
export interface FollowUps {
  /** Returns the next request; undefined if the empty reply is final. */
  after: (said: Said, used: boolean) => { message: ModelMessage; silent: boolean } | undefined;
  /** A retry was sent and not answered yet. */
  readonly asked: boolean;
}

export function createFollowUps({ tools, followUps: most }: TurnPlan): FollowUps {
  let count = 0;
  return {
    get asked() {
      return count > 0;
    },
    after(said, used) {
      const { text, calls, reason } = said;
      const silent = text === '' && calls.length === 0 && reason !== 'length';
      if (most === undefined || tools.use === undefined || !used || !silent || said === NO_ANSWER || count > most) return undefined;
      count += 1;
      const last = count > most;
      return { message: { role: 'user', text: last ? SYNTHESIS : DIRECTIVE }, silent: last };
    },
  };
}
