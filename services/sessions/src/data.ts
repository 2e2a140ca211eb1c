import { z } from 'zod';
import { FinishReason, TokensUsed, TurnFailure, TurnResult } from '@switchyard/contracts';
import { leaseFields } from '@switchyard/service-kit';
import { collection, json } from '@switchyard/store';

const instant = z.int().nonnegative();

/** sub-agent when another session spawned it, group when it has a guild, else dm. */
export const SessionKind = z.enum(['sub-agent', 'group', 'dm']);

/** One document per session: which turn runs, and the number the next one gets. Messages are documents of their own. */
export const SessionDocument = z.object({
  key: z.string(),
  agentId: z.string(),
  userId: z.string(),
  channelId: z.string(),
  guildId: z.string().optional(),
  kind: SessionKind,
  /** Who holds the lane, a turn or whoever empties the session; nobody else runs in this session. */
  activeTurn: z.string().nullable(),
  /** Since when it is held. */
  activeSince: instant,
  nextTurnSeq: z.int().nonnegative(),
  /** How many messages count. One with a number beyond belongs to a turn that is just being committed. */
  messageCount: z.int().nonnegative(),
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
  costUsd: z.number().nonnegative(),
  lastSteps: z.int().nonnegative(),
  /** The client whose turn made it. Absent in a document of before this was remembered, which is nobody's own. */
  createdBy: z.string().optional(),
  metadata: json(z.record(z.string(), z.unknown())),
  createdAt: instant,
  updatedAt: instant,
});
export type SessionDocument = z.infer<typeof SessionDocument>;

/** One call of a tool within a step, and what came of it. */
export const ToolRecord = z.object({
  callId: z.string(),
  name: z.string(),
  input: z.unknown(),
  result: z.unknown().optional(),
  failed: z.boolean(),
});
export type ToolRecord = z.infer<typeof ToolRecord>;

/** One model step: what it said, and the tools it called. */
export const StepRecord = z.object({ text: z.string(), tools: z.array(ToolRecord) });
export type StepRecord = z.infer<typeof StepRecord>;

/** One document per turn: its lease and fence guard everything its runner writes. */
export const TurnDocument = z.object({
  turnId: z.string(),
  sessionKey: z.string(),
  seq: z.int().nonnegative(),
  agentId: z.string(),
  message: z.string(),
  client: z.string(),
  scopes: z.array(z.string()),
  /** The client is held to the sessions that it made; whoever runs the turn holds it to them too. */
  sessions: z.literal('own').optional(),
  /** The caller's key, led by the caller and the method; unique while the turn is kept. */
  idempotencyKey: z.string().optional(),
  fingerprint: z.string(),
  /** The ids under which it was asked for, so that whoever runs it can say so. */
  requestId: z.string().optional(),
  traceparent: z.string().optional(),
  steps: z.array(json(StepRecord)),
  result: TurnResult.optional(),
  failure: json(TurnFailure).optional(),
  costUsd: z.number().nonnegative().optional(),
  /** The number of the last frame, once the turn has ended. */
  lastFrame: z.int().nonnegative().optional(),
  createdAt: instant,
  startedAt: instant.optional(),
  finishedAt: instant.optional(),
  ...leaseFields,
});
export type TurnDocument = z.infer<typeof TurnDocument>;

/** One message of a turn that is done. The number counts a session's messages from 0. */
export const MessageDocument = z.object({
  id: z.string(),
  sessionKey: z.string(),
  turnId: z.string(),
  seq: z.int().nonnegative(),
  role: z.enum(['user', 'assistant']),
  content: z.string(),
  timestamp: instant,
  tokensUsed: TokensUsed.optional(),
  finishReason: FinishReason.optional(),
});
export type MessageDocument = z.infer<typeof MessageDocument>;

const DAY_MS = 86_400_000;
/** A question or an answer may be as large as a request; they stand in documents of turns and messages until they get their own. */
const SAID_BYTES = 8_388_608;

export const sessionCollection = collection({
  name: 'sessions',
  schema: SessionDocument,
  key: 'key',
  indexes: [
    { fields: ['updatedAt'] },
    { fields: ['kind', 'updatedAt'] },
    { fields: ['createdBy', 'updatedAt'] },
    { fields: ['createdBy', 'channelId', 'updatedAt'] },
    { fields: ['activeTurn'], across: true },
  ],
});

export const turnCollection = collection({
  name: 'turns',
  schema: TurnDocument,
  key: 'turnId',
  maxBytes: SAID_BYTES,
  indexes: [
    { fields: ['sessionKey', 'state', 'seq'] },
    { fields: ['state', 'leaseUntil'], across: true },
    { fields: ['state', 'createdAt'], across: true },
  ],
  unique: [['idempotencyKey']],
  expires: { field: 'finishedAt', afterMs: DAY_MS },
});

export const messageCollection = collection({
  name: 'messages',
  schema: MessageDocument,
  key: 'id',
  maxBytes: SAID_BYTES,
  indexes: [{ fields: ['sessionKey', 'seq'] }],
});
