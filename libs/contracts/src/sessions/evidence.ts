import { z } from 'zod';
import { Count, Timestamp } from '../common.ts';
import { MAX, upTo } from '../sizes.ts';
import { TurnId } from './turns.ts';

/** The beginning of a SHA-256, in hexadecimal: the same of the same text, and nothing that was said. */
const Digest = upTo(MAX.name);

/** A tool that was called in a step: what with, by a digest alone, and what came of it. Without an outcome none came. */
export const ToolEvidence = z.object({
  name: upTo(MAX.name),
  args: Digest,
  failed: z.boolean().optional(),
  ms: z.number().optional(),
  chars: Count.optional().describe('of its result, as the model reads it'),
  result: Digest.optional(),
});
export type ToolEvidence = z.infer<typeof ToolEvidence>;

/** One step of a turn: how long its model took, for its first word and for all, what it cost, and the tools it called. */
export const StepEvidence = z.object({
  step: Count,
  ms: z.number(),
  firstMs: z.number().optional(),
  chars: Count,
  input: z.number().optional(),
  output: z.number().optional(),
  heard: Count.optional().describe('messages of others that it heard before'),
  tools: z.array(ToolEvidence).max(MAX.few).optional(),
  moreTools: Count.optional(),
});
export type StepEvidence = z.infer<typeof StepEvidence>;

const ToldEvidence = z
  .object({
    messages: Count.describe('word by word'),
    chars: Count,
    turns: z.object({ from: Count, to: Count }).optional().describe('the numbers of the turns that these messages are of'),
    summaries: Count,
    summaryIds: z.array(upTo(MAX.id)).max(MAX.many).optional().describe('in the order in which they were told'),
    depth: Count.describe('of the deepest summary'),
    folded: Count.describe('messages that the summaries stand for'),
    leftOut: Count.describe('messages that were told in no form'),
    tools: Count.describe('tools that were offered'),
  })
  .describe('what stood before the question');

/** What was odd about what a turn was told, by names and numbers alone. */
export const Screened = z.object({
  score: z.number().min(0).max(1),
  risk: z.enum(['low', 'medium', 'high']),
  patterns: z.array(upTo(MAX.name)).max(MAX.few),
  shapes: z.array(z.enum(['mostly_whitespace', 'repeated_character'])).max(MAX.few),
});
export type Screened = z.infer<typeof Screened>;

/** How a turn went, in numbers, references and digests. */
export const TurnEvidence = z.object({
  model: upTo(MAX.name).optional(),
  told: ToldEvidence.optional(),
  recalled: z
    .object({
      count: Count,
      chars: Count,
      reranked: z
        .object({ candidates: Count, ms: z.number(), fellBack: z.boolean(), timedOut: z.boolean(), input: Count, output: Count })
        .optional()
        .describe('a model was asked for their order'),
    })
    .optional()
    .describe('what memory put before the question'),
  screened: Screened.optional().describe('the worst that it was told, where that was flagged'),
  output: z
    .object({ redacted: z.array(upTo(MAX.name)).max(MAX.few), warned: z.array(upTo(MAX.name)).max(MAX.few) })
    .optional()
    .describe('kinds of what was taken out of its answer, and of what is only warned of'),
  plan: z
    .object({
      steps: Count,
      digests: z.array(Digest).max(MAX.few).describe('of each of its steps'),
      after: Count.describe('steps that the turn made after it'),
      early: z.literal(true).optional().describe('it ended in fewer steps than it had planned: its answer is worth a look'),
    })
    .optional()
    .describe('what its model said it would do, before it called any tool'),
  before: Count.optional().describe('steps of an earlier run, which left nothing here'),
  steps: z.array(StepEvidence).max(MAX.few),
  dropped: Count.optional().describe('so many steps are missing after the first twenty'),
});
export type TurnEvidence = z.infer<typeof TurnEvidence>;

/** A turn of a conversation and its evidence, which turns of commands have none of. */
export const EvidentTurn = z.object({
  turnId: TurnId,
  turn: Count.describe('its number'),
  at: Timestamp,
  evidence: TurnEvidence.optional(),
});
