import { ServiceError } from '@switchyard/contracts';
import type { ModelMessage, ModelUsage } from '@switchyard/models';
import { reserveBudget } from './budget-reservation.ts';
import type { ModelAccess } from '../agents/model-access.ts';
import { CIRCUIT_IS_OPEN, callModel, EMPTY_REPLY, type ModelCallOptions, type ModelReply } from './model-call.ts';
import type { TurnPlan } from './turn-plan.ts';

const CONTINUE_PROMPT = 'Your answer was cut off because it was too long. Continue exactly where it ends. Do not repeat any of it.';

/**
 * Requests the rest of a truncated answer with a higher output limit. Streamed text is kept: the model continues after it, or starts again
 * if there is none. On failure the truncated answer is returned.
 */
export async function continueTruncated(
  models: ModelAccess,
  plan: TurnPlan,
  { reply, request }: { reply: ModelReply; request: Pick<ModelCallOptions, 'messages' | 'remainingTokens' | 'filterText'> },
): Promise<ModelReply> {
  const { format, maxOutputTokens = 0, signal } = plan;
  // A truncated JSON answer cannot be continued, because the second part would be a separate document.
  const max = format === undefined || reply.text === '' ? await plan.escalateTo?.() : undefined;
  if (max === undefined || max <= maxOutputTokens) return reply;
  const messages = reply.text === '' ? request.messages : [...request.messages, ...continuationMessages(reply.text)];
  let hasStreamed = false;
  const sendMessage = (piece: string): string => {
    hasStreamed = true;
    return request.filterText(piece);
  };
  try {
    const reserved = await reserveBudget({ ...plan, maxOutputTokens: max }, messages, true);
    if (reserved === 'exceeded') return reply;
    const remaining = request.remainingTokens - reply.usage.input - reply.usage.output;
    const more = await callModel(models, plan, {
      messages,
      remainingTokens: remaining,
      reserved,
      started: true,
      maxOutputTokens: max,
      filterText: sendMessage,
    });
    return more === CIRCUIT_IS_OPEN ? reply : concatReplies(reply, more);
  } catch (error) {
    if (hasStreamed || signal.aborted || !(error instanceof ServiceError)) throw error;
    return reply;
  }
}

function continuationMessages(text: string): ModelMessage[] {
  return [
    { role: 'assistant', text },
    { role: 'user', text: CONTINUE_PROMPT },
  ];
}

function concatReplies(first: ModelReply, second: ModelReply): ModelReply {
  return {
    ...second,
    text: first.text + second.text,
    usage: sumUsage(first.usage, second.usage),
    costUsd: first.costUsd + second.costUsd,
  };
}

function sumUsage(one: ModelUsage, other: ModelUsage): ModelUsage {
  const sum = (name: keyof ModelUsage): number => (one[name] ?? 0) + (other[name] ?? 0);
  return { input: sum('input'), output: sum('output'), cacheRead: sum('cacheRead'), cacheWrite: sum('cacheWrite') };
}

/** Sent when the model returns nothing after tool results. */
const DIRECTIVE = 'You called tools but wrote no answer. Finish the remaining work, or answer now.';
/** Sent as the last attempt. */
const SYNTHESIS = 'Answer now with the information you have. You cannot call any more tools.';

/** Retries of a model that returns nothing after tool results. */
export interface SilenceRetries {
  /** Returns the next request; undefined if the empty reply is final. */
  next: (content: ModelReply, used: boolean) => { message: ModelMessage; toolsDisabled: boolean } | undefined;
  /** A retry was sent and not answered yet. */
  readonly isPending: boolean;
}

export function createSilenceRetries({ tools, silenceRetries: max }: TurnPlan): SilenceRetries {
  let count = 0;
  return {
    get isPending() {
      return count > 0;
    },
    next(content, used) {
      const { text, calls, reason } = content;
      const silent = text === '' && calls.length === 0 && reason !== 'length';
      if (max === undefined || tools.use === undefined || !used || !silent || content === EMPTY_REPLY || count > max) return undefined;
      count += 1;
      const last = count > max;
      return { message: { role: 'user', text: last ? SYNTHESIS : DIRECTIVE }, toolsDisabled: last };
    },
  };
}
