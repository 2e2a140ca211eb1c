import { z } from 'zod';
import { Count, Timestamp, Usd } from '../values/common.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { TurnId } from './turns.ts';

/** Prefix of a SHA-256 in hexadecimal. Equal texts have equal digests, and the digest reveals no text. */
const Digest = boundedString(MAX.name);

/** A tool that was called in a step: what with, by a digest alone, and what came of it. Without an outcome none came. */
export const ToolEvidence = z.object({
  name: boundedString(MAX.name),
  args: Digest,
  failed: z.boolean().optional(),
  ms: z.number().optional(),
  chars: Count.optional().describe('length of the result as shown to the model'),
  result: Digest.optional(),
  error: boundedString(MAX.name).optional().describe('code of a failed call; absent if the tool itself reported the failure'),
  reason: boundedString(MAX.name).optional().describe('reason of that code'),
  stored: boundedString(MAX.id).optional().describe('id of the complete result, if the model was shown its beginning'),
  storedChars: Count.optional(),
});
export type ToolEvidence = z.infer<typeof ToolEvidence>;

/** Budgets of a step when its model was called. */
export const StepBudget = z.object({
  leftTokens: z.number().describe('tokens left of the budget of the turn'),
  leftUsd: Usd.optional().describe('US dollars left of the budget of the turn, if its cost is limited'),
  reservedTokens: z
    .number()
    .optional()
    .describe('tokens reserved for the call in the hourly and daily budgets of the agent and the caller'),
  reservedUsd: Usd.optional(),
});
export type StepBudget = z.infer<typeof StepBudget>;

/** One step of a turn: time to first token, duration, cost, and tool calls. */
export const StepEvidence = z.object({
  step: Count,
  at: z.number().optional().describe('start of the step, in milliseconds since the start of the run'),
  ms: z.number(),
  firstMs: z.number().optional(),
  chars: Count,
  input: z.number().optional(),
  output: z.number().optional(),
  costUsd: Usd.optional().describe('cost of its model calls; absent if nothing is charged'),
  model: boundedString(MAX.name).optional().describe('the model that answered'),
  fallback: z.literal(true).optional().describe('another model than the requested one answered'),
  calls: Count.optional().describe('model calls, if there were several'),
  retries: Count.optional().describe('repetitions of a call that did not reach the model'),
  budget: StepBudget.optional(),
  heard: Count.optional().describe('messages merged into the turn before this step'),
  tools: z.array(ToolEvidence).max(MAX.few).optional(),
  moreTools: Count.optional(),
});
export type StepEvidence = z.infer<typeof StepEvidence>;

const ToldEvidence = z
  .object({
    messages: Count.describe('verbatim messages'),
    chars: Count,
    turns: z.object({ from: Count, to: Count }).optional().describe('turn numbers of these messages'),
    summaries: Count,
    summaryIds: z.array(boundedString(MAX.id)).max(MAX.many).optional().describe('in prompt order'),
    depth: Count.describe('depth of the deepest summary'),
    folded: Count.describe('messages covered by summaries'),
    leftOut: Count.describe('omitted messages'),
    tools: Count.describe('offered tools'),
  })
  .describe('prompt before the question');

/** One layer between a conversation and its model, over all steps of a turn. */
export const ContextLayerEvidence = z.object({
  name: boundedString(MAX.name),
  ms: z.number(),
  messagesIn: Count.describe('messages before the last pass'),
  messagesOut: Count.describe('messages after the last pass'),
  removedTokens: Count.optional().describe('estimated tokens that the layer removed from the prompt'),
  removed: z.record(boundedString(MAX.name), Count).check(maxKeys(MAX.words)).optional().describe('removed parts by reason'),
});
export type ContextLayerEvidence = z.infer<typeof ContextLayerEvidence>;

/** Findings of the input screening, as names and numbers only. */
export const Screened = z.object({
  score: z.number().min(0).max(1),
  risk: z.enum(['low', 'medium', 'high']),
  patterns: z.array(boundedString(MAX.name)).max(MAX.few),
  shapes: z.array(z.enum(['mostly_whitespace', 'repeated_character'])).max(MAX.few),
});
export type Screened = z.infer<typeof Screened>;

/** Trace of a turn as numbers, references and digests. */
export const TurnEvidence = z.object({
  model: boundedString(MAX.name).optional(),
  told: ToldEvidence.optional(),
  recalled: z
    .object({
      count: Count,
      chars: Count,
      reranked: z
        .object({ candidates: Count, ms: z.number(), fellBack: z.boolean(), timedOut: z.boolean(), input: Count, output: Count })
        .optional()
        .describe('reranked by a model'),
    })
    .optional()
    .describe('memories included in the prompt'),
  window: z
    .object({
      tokens: Count.describe('size of the context window'),
      used: Count.describe('estimated tokens of the prompt'),
      system: Count.describe('estimated tokens of the system prompt'),
      messages: Count,
      reserved: Count.describe('tokens that are kept free for the answer'),
      fits: z.boolean(),
    })
    .optional()
    .describe('last measurement of the prompt against the context window'),
  layers: z.array(ContextLayerEvidence).max(MAX.words).optional().describe('layers that built the prompt, in order'),
  screened: Screened.optional().describe('worst screening result of its messages, if flagged'),
  output: z
    .object({ redacted: z.array(boundedString(MAX.name)).max(MAX.few), warned: z.array(boundedString(MAX.name)).max(MAX.few) })
    .optional()
    .describe('kinds of redacted and reported content in the answer'),
  plan: z
    .object({
      steps: Count,
      digests: z.array(Digest).max(MAX.few).describe('digests of the planned steps'),
      after: Count.describe('steps executed after the plan'),
      early: z.literal(true).optional().describe('the turn ended in fewer steps than planned'),
    })
    .optional()
    .describe('plan stated by the model before its first tool call'),
  before: Count.optional().describe('steps of an earlier attempt that are not listed'),
  steps: z.array(StepEvidence).max(MAX.few),
  dropped: Count.optional().describe('number of omitted steps after the first twenty'),
});
export type TurnEvidence = z.infer<typeof TurnEvidence>;

/** A turn of a conversation with its evidence; command turns have no evidence. */
export const EvidentTurn = z.object({
  turnId: TurnId,
  turn: Count.describe('number of the turn'),
  at: Timestamp,
  evidence: TurnEvidence.optional(),
});
