import { z } from 'zod';
import { FinishReason, AllowedAgents, SpendLimits, TokensUsed, TurnFailure, type TurnResult } from '@switchyard/contracts';
import { WorkState } from '@switchyard/service-kit';
import { collection, json } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';
import { Said } from './text-document.ts';
import { Effect } from './session-document.ts';

/** A message that a turn has heard besides its own: the turn that it came with, when, and what it says. */
export const Heard = z.object({ turnId: z.string(), at: instant, said: Said });

export type Heard = z.infer<typeof Heard>;

/** One document per turn: what was asked, how far it is, what came of it. It stays as long as its session. */
export const TurnDocument = z.object({
  turnId: z.string(),
  sessionKey: z.string(),
  agentId: z.string(),
  message: Said,
  client: z.string(),
  scopes: z.array(z.string()),
  /** The client is held to the sessions that it made; whoever runs the turn holds it to them too. */
  sessions: z.literal('own').optional(),
  /** What that client’s token may use. */
  budgets: SpendLimits.optional(),
  /** The agents that it is held to. */
  agents: AllowedAgents.optional(),
  /** The caller's key, led by the caller and the method; unique while it is kept. */
  idempotencyKey: z.string().optional(),
  keyUntil: instant.optional(),
  fingerprint: z.string(),
  /** The ids under which it was asked for, so that whoever runs it can say so. */
  requestId: z.string().optional(),
  traceparent: z.string().optional(),
  /** The model that answers it, by the name that was asked for; that of its agent or session otherwise. */
  model: z.string().optional(),
  /** How long it may take from its start on, where that is less than any turn may. */
  timeoutMs: count.optional(),
  /** Until when it waits for more to be said, which it then hears (`queue/debounce.ts`). */
  gathersUntil: instant.optional(),
  /** The lane in which it waits for its agent, where there were any when it came (`queue/lanes.ts`). */
  lane: z.string().optional(),
  /** Whoever asked for it waits for the whole answer. Its text is told in few frames, until somebody follows it. */
  quiet: z.literal(true).optional(),
  state: WorkState,
  /** The lease of the session under which it was last worked on. */
  fence: count,
  attempts: count,
  /** What was done so far, mark by mark (`model/checkpoint-log.ts`). */
  steps: z.array(json()),
  /** How often something was appended, so that what is written again after a lost answer is written once. */
  checkpoints: count,
  /** What the model has said since the last mark, in pieces. */
  tail: z.array(Said),
  /** Turns that were left out for it, and how their messages begin (`queue/dropped-messages.ts`). */
  leftOut: z.array(z.object({ lines: z.array(z.object({ turnId: z.string(), text: z.string() })) })).optional(),
  /** Turns that waited behind it and whose messages it has heard: they end as it does, unless it is cancelled. */
  joined: z.array(Heard).optional(),
  /** The turn that heard its message, and whose answer is its own. */
  answeredBy: z.string().optional(),
  /** The number of the next frame, as of the last checkpoint. */
  frame: count.optional(),
  answer: Said.optional(),
  tokensUsed: TokensUsed.optional(),
  finishReason: FinishReason.optional(),
  stepCount: count.optional(),
  failure: json(TurnFailure).optional(),
  costUsd: z.number().nonnegative().optional(),
  /** It was a command, and was answered without a model. */
  effect: Effect.optional(),
  /** How it went, without anything that was said: a `TurnEvidence`, as JSON. */
  evidence: z.string().optional(),
  /** What it had to go without. */
  warnings: z.array(z.string()).optional(),
  /** Since when it is to be remembered; absent where it is not to be, or the memory service has it (`memory/memory-capture.ts`). */
  unremembered: instant.optional(),
  /** Since when it may be gone on from by itself; 0 where somebody does not want that, absent where there is nothing to be done (`turns/execution/auto-continue.ts`). */
  unfollowed: instant.optional(),
  /** Nobody sent it: the turn that it goes on from, in which conversation, and how many in a row have done so. */
  follows: z.object({ turnId: z.string(), run: count, epoch: z.string(), seq: count }).optional(),
  /** The number of the last frame, once the turn has ended. */
  lastFrame: count.optional(),
  /** Once it is done: which of the session's turns it is, and in which epoch. */
  seq: count.optional(),
  epoch: z.string().optional(),
  createdAt: instant,
  startedAt: instant.optional(),
  finishedAt: instant.optional(),
  /** From when on nobody needs it: it has no answer, or the session was emptied. */
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
    // A turn is in its session's history once it is done, and an epoch is one session's alone: what is asked or waits costs it nothing.
    { fields: ['epoch', 'seq'], sparse: true },
    { fields: ['state', 'createdAt'], across: true },
    { fields: ['keyUntil'], across: true, sparse: true },
    { fields: ['unremembered'], across: true, sparse: true },
    { fields: ['unfollowed'], across: true, sparse: true },
  ],
  unique: [['idempotencyKey']],
  expires: { field: 'forgetAt', afterMs: 0 },
});

export function hasEnded({ state }: Pick<TurnDocument, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

export type TurnEnd = { result: TurnResult; failure?: undefined } | { failure: TurnFailure; result?: undefined };

type Unbegun = Pick<TurnDocument, 'state' | 'fence' | 'attempts' | 'steps' | 'checkpoints' | 'tail' | 'createdAt'>;

/** What stands in every turn that is written, before anybody has begun on it. */
export function unbegun(createdAt: number): Unbegun {
  return { state: 'queued', fence: 0, attempts: 0, steps: [], checkpoints: 0, tail: [], createdAt };
}
