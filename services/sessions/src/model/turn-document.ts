import { z } from 'zod';
import {
  FinishReason,
  AllowedAgents,
  SpendLimits,
  TokensUsed,
  TurnFailure,
  TurnHistory,
  TurnKind,
  TurnLimits,
  TurnOrigin,
  TurnState,
  TurnTools,
  TurnUsage,
  type TurnResult,
} from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';
import { StoredText } from './text-document.ts';
import { Effect } from './session-document.ts';

/** A message that a running turn has merged: the turn it came with, its time and its text. */
export const MergedMessage = z.object({ turnId: z.string(), at: instant, content: StoredText });

export type MergedMessage = z.infer<typeof MergedMessage>;

/** The order of a turn by another service. */
export const TurnOrder = z.object({
  kind: TurnKind,
  origin: TurnOrigin,
  limits: TurnLimits.optional(),
  history: TurnHistory.optional(),
});
export type TurnOrder = z.infer<typeof TurnOrder>;

/** One document per turn: request, progress and result. It is kept as long as its session. */
export const TurnDocument = z.object({
  turnId: z.string(),
  sessionKey: z.string(),
  agentId: z.string(),
  message: StoredText,
  client: z.string(),
  scopes: z.array(z.string()),
  /** The client is restricted to sessions that it created. The runner applies the same restriction. */
  sessions: z.literal('own').optional(),
  /** Spend limits of the client's token. */
  budgets: SpendLimits.optional(),
  /** Agents that the client's token is restricted to. */
  agents: AllowedAgents.optional(),
  /** Idempotency key, prefixed with client and method. Unique while it is kept. */
  idempotencyKey: z.string().optional(),
  keyUntil: instant.optional(),
  fingerprint: z.string(),
  /** Ids of the request, for logs and traces of the run. */
  requestId: z.string().optional(),
  traceparent: z.string().optional(),
  /** Requested model; without it the model of the session or agent answers. */
  model: z.string().optional(),
  /** Set on turns that another service ordered. */
  order: json(TurnOrder).optional(),
  /** Material of the order, a list of `TurnContext` as JSON. */
  context: StoredText.optional(),
  /** Tools that the order leaves to the turn and to those that continue it. */
  tools: json(TurnTools).optional(),
  /** Time limit from the first start, if it is shorter than the general limit. */
  timeoutMs: count.optional(),
  /** The turn starts at this time and merges the messages that arrived until then (`queue/debounce.ts`). */
  debounceUntil: instant.optional(),
  /** Lane in which the turn waits for its agent, if lanes are configured (`queue/lanes.ts`). */
  lane: z.string().optional(),
  /** The caller waits for the whole answer. Text is published in few frames until a reader follows the turn. */
  quiet: z.literal(true).optional(),
  state: TurnState,
  /** Session lease under which the turn was last worked on. */
  fence: count,
  attempts: count,
  /** Number of runs that ended because the turn began to wait for an approval. They are no failed attempts. */
  parks: count.optional(),
  /** Set while the turn waits for an approval: the request, the time since and the latest time of its verdict. No replica runs it. */
  parked: z.object({ requestId: z.string(), at: instant, until: instant }).optional(),
  /** Checkpoints of the run (`model/checkpoint-log.ts`). */
  steps: z.array(json()),
  /** Number of checkpoints written. A retried write with the same number is applied once. */
  checkpoints: count,
  /** Model output since the last checkpoint, in pieces. */
  tail: z.array(StoredText),
  /** Turns that were dropped for this one, with the beginning of their messages (`queue/dropped-messages.ts`). */
  dropped: z.array(z.object({ lines: z.array(z.object({ turnId: z.string(), text: z.string() })) })).optional(),
  /** Messages of queued turns that this turn has merged. Those turns end as this one does, unless it is cancelled. */
  merged: z.array(MergedMessage).optional(),
  /** The turn that merged this one and whose answer it shares. */
  mergedInto: z.string().optional(),
  /** Number of the next frame, as of the last checkpoint. */
  frame: count.optional(),
  answer: StoredText.optional(),
  tokensUsed: TokensUsed.optional(),
  finishReason: FinishReason.optional(),
  /** The prompt contained text from outside, which the answer may repeat. Later turns whose history contains this turn are tainted too. */
  tainted: z.literal(true).optional(),
  stepCount: count.optional(),
  failure: json(TurnFailure).optional(),
  costUsd: z.number().nonnegative().optional(),
  /** Usage of models. Set on ended turns that may have called one. */
  usage: json(TurnUsage).optional(),
  /** Set on commands, which are answered without a model. */
  effect: Effect.optional(),
  /** Turn trace without any text: a `TurnEvidence` as JSON. */
  trace: z.string().optional(),
  /** Warnings for the owner, for example about missing memory. */
  warnings: z.array(z.string()).optional(),
  /** Time since which the memory service has to be notified; absent when there is nothing to send (`memory/memory-capture.ts`). */
  memoryPendingSince: instant.optional(),
  /**
   * Time since which the turn may be auto-continued; 0 when a client forbade it, absent when there is nothing to do
   * (`turns/execution/auto-continue.ts`).
   */
  continuePendingSince: instant.optional(),
  /** Set on auto-continued turns: the turn being continued, its epoch and number, and the length of the continuation chain. */
  continuationOf: z.object({ turnId: z.string(), run: count, epoch: z.string(), seq: count }).optional(),
  /** Number of the last frame, once the turn has ended. */
  lastFrame: count.optional(),
  /** Position in the history of the session, and the epoch. Set when the turn is done. */
  seq: count.optional(),
  epoch: z.string().optional(),
  createdAt: instant,
  startedAt: instant.optional(),
  finishedAt: instant.optional(),
  /** Expiry of the document. Set when the turn has no answer or its session was reset. */
  forgetAt: instant.optional(),
});

export type TurnDocument = z.infer<typeof TurnDocument>;

const TURN_BYTES = 262_144;

export const turnCollection = collection({
  name: 'turns',
  schema: TurnDocument,
  key: 'turnId',
  maxBytes: TURN_BYTES,
  indexes: [
    // Only turns that are done have a `seq`, so queued turns cost this index nothing. An epoch belongs to one session.
    { fields: ['epoch', 'seq'], sparse: true },
    { fields: ['state', 'createdAt'], across: true },
    { fields: ['finishedAt'], across: true, sparse: true },
    { fields: ['keyUntil'], across: true, sparse: true },
    { fields: ['memoryPendingSince'], across: true, sparse: true },
    { fields: ['continuePendingSince'], across: true, sparse: true },
  ],
  unique: [['idempotencyKey']],
  expires: { field: 'forgetAt', afterMs: 0 },
});

export function hasEnded({ state }: Pick<TurnDocument, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

export type TurnEnd = { result: TurnResult; failure?: undefined } | { failure: TurnFailure; result?: undefined };

type NewTurnFields = Pick<TurnDocument, 'state' | 'fence' | 'attempts' | 'steps' | 'checkpoints' | 'tail' | 'createdAt'>;

/** Initial fields of every new turn. */
export function newTurnFields(createdAt: number): NewTurnFields {
  return { state: 'queued', fence: 0, attempts: 0, steps: [], checkpoints: 0, tail: [], createdAt };
}
