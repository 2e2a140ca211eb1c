import { z } from 'zod';
import { Count, SessionKey } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { RECORDING_SCHEMA, ReplayDifference, TurnRecording } from '../sessions/recordings.ts';
import { TurnId } from '../sessions/turns.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Replay = z.object({
  traceId: TurnId,
  steps: Count.describe('steps of the replay'),
  difference: ReplayDifference.nullable().describe('null if the replay equals the recording'),
  recording: TurnRecording.optional().describe('with traceId: the recording, to be kept as a file'),
});

/** Rules by which secrets are removed from a bundle. */
export const REDACTION_POLICY = 'platform-aware-v1';

const TRACE = 'turn_4fT0mUq2Zs8KxY1bNcVdGh';

const recording: z.input<typeof TurnRecording> = {
  schema: RECORDING_SCHEMA,
  schemaVersion: 1,
  turnId: TRACE,
  sessionKey: 'default:alice:gateway',
  agentId: 'default',
  client: 'alice',
  createdAt: 1763719200000,
  scopes: ['rpc'],
  hasHistoryTools: false,
  message: 'hello',
  tools: [],
  steps: [],
  answer: 'Hello!',
  finishReason: 'stop',
  tokensUsed: { input: 12, output: 3 },
};

export const obsReplayMethods = defineMethods({
  'obs.replay': {
    summary: 'Runs a recorded turn again with its recorded model answers and tool results, and reports the first difference.',
    description:
      'No model and no tool is called. The replay uses the agent as it is configured now: its system prompt, tools and limits. Requires a trace id, whose turn is recorded first, or a recording. The conversation before the turn is no part of a recording.',
    scope: 'admin',
    beyond: true,
    params: z
      .strictObject({ traceId: TurnId.optional(), recording: TurnRecording.optional() })
      .refine((params) => (params.traceId === undefined) !== (params.recording === undefined), {
        error: 'either traceId or recording',
        params: { received: 'both or neither' },
      }),
    result: Replay,
    blobs: ['recording'],
    idempotent: true,
    reads: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    examples: [{ params: { recording }, result: { traceId: TRACE, steps: 1, difference: null } }],
  },
  'obs.bundle': {
    summary: 'Returns all evidence of an incident as files, without secrets.',
    description:
      'Explains the session as obs.explain does and adds the events, texts and tools of the explained turn. Values of secret fields and texts in a secret format are redacted. Requires sessionKey or traceId.',
    scope: 'admin',
    beyond: true,
    params: z
      .strictObject({ sessionKey: SessionKey.optional(), traceId: TurnId.optional() })
      .refine(({ sessionKey, traceId }) => sessionKey !== undefined || traceId !== undefined, {
        error: 'sessionKey or traceId',
        params: { received: 'neither' },
      }),
    result: z.object({
      sessionKey: SessionKey.nullable(),
      traceId: TurnId.nullable(),
      redaction: z.literal(REDACTION_POLICY),
      files: z
        .array(
          z.object({
            name: boundedString(MAX.name),
            content: z.string().max(MAX.text * 8),
            sha256: boundedString(MAX.name),
          }),
        )
        .max(MAX.words),
      truncations: z.array(z.object({ field: boundedString(MAX.name), reason: boundedString(MAX.line) })).max(MAX.words),
    }),
    blobs: ['files', 'truncations'],
    idempotent: true,
    reads: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { traceId: TRACE },
        result: {
          sessionKey: 'default:alice:gateway',
          traceId: TRACE,
          redaction: REDACTION_POLICY,
          files: [{ name: 'system-prompt.txt', content: '', sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' }],
          truncations: [],
        },
      },
    ],
  },
});
