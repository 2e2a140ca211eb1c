import { z } from 'zod';
import type { OperationSpecs } from '../definition/define.ts';
import { TOKEN_SCOPES } from '../values/principal.ts';
import { AgentId, Count, FinishReason, SessionKey, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { TurnTools } from './turn-orders.ts';
import { TurnFailure, TurnId } from './turns.ts';

export const RECORDING_SCHEMA = 'switchyard-turn-recording';

const Digest = boundedString(MAX.name);
const Text = boundedString(MAX.text);

const RecordedStep = z.object({
  text: Text,
  calls: z.array(z.object({ name: boundedString(MAX.name), input: z.unknown() })).max(MAX.many),
  results: z.array(z.object({ result: z.unknown(), failed: z.boolean() })).max(MAX.many),
  input: Count,
  output: Count,
  costUsd: z.number().nonnegative(),
});

/** A turn with its model answers and tool results. Texts in a secret format are redacted. */
export const TurnRecording = z.object({
  schema: z.literal(RECORDING_SCHEMA),
  schemaVersion: z.literal(1),
  turnId: TurnId,
  sessionKey: SessionKey,
  agentId: AgentId,
  client: boundedString(MAX.id),
  model: boundedString(MAX.name).optional().describe('provider/model that was requested'),
  createdAt: Timestamp,
  scopes: z.array(z.enum(TOKEN_SCOPES)).max(MAX.words),
  narrowing: TurnTools.optional(),
  hasHistoryTools: z.boolean().describe('whether the prompt lacked a part of the conversation'),
  message: Text,
  system: Text.optional().describe('system prompt when the recording was made'),
  tools: z
    .array(z.object({ name: boundedString(MAX.name), digest: Digest.describe('of description and parameters') }))
    .max(MAX.many)
    .describe('tools that the agent is offered when the recording is made'),
  steps: z.array(RecordedStep).max(MAX.many).describe('steps with tool calls'),
  answer: Text.optional(),
  finishReason: FinishReason.optional(),
  tokensUsed: z.object({ input: Count, output: Count }).optional(),
  failure: TurnFailure.optional(),
});
export type TurnRecording = z.infer<typeof TurnRecording>;

/** First difference between a recorded turn and its replay. */
export const ReplayDifference = z.object({
  step: Count.describe('0 before the first model call'),
  field: boundedString(MAX.name).describe('system, tools.<name>, calls, finishReason or answer'),
  expected: boundedString(MAX.line),
  received: boundedString(MAX.line),
});
export type ReplayDifference = z.infer<typeof ReplayDifference>;

/** Recordings of turns, and their replay without a model call or a tool call. */
export const recordingOperations = {
  'turns.record': {
    summary: 'Returns an ended turn with its model answers and tool results.',
    callers: ['observability'] as const,
    blobs: ['recording'],
    params: z.strictObject({ turnId: TurnId }),
    result: z.object({ recording: TurnRecording }),
    idempotent: true,
    reads: true,
  },
  'turns.replay': {
    summary: 'Runs a recorded turn again with its recorded model answers and tool results, and returns the first difference.',
    callers: ['observability'] as const,
    blobs: ['recording'],
    params: z.strictObject({ recording: TurnRecording }),
    result: z.object({ steps: Count, difference: ReplayDifference.nullable() }),
    idempotent: true,
    reads: true,
  },
} satisfies OperationSpecs;
