import { z } from 'zod';
import { AnswerHead, FinishReason, HeldToAgents, SpendLimits, TokensUsed, TurnFailure } from '@switchyard/contracts';
import { leaseFields, WorkState } from '@switchyard/service-kit';
import { collection, json } from '@switchyard/store';

const instant = z.int().nonnegative();
const count = z.int().nonnegative();

/** sub-agent when another session spawned it, group when it has a guild, else dm. */
export const SessionKind = z.enum(['sub-agent', 'group', 'dm']);

/** What was said to be so in a session from then on. */
export const Preferences = z.object({
  at: instant,
  /** The model that answers there, `provider/model`. */
  model: z.string().optional(),
  /** Tokens that the next turn may use. */
  budget: count.optional(),
});
export type Preferences = z.infer<typeof Preferences>;

/** What a turn that was a command does to its session when it leaves the queue. It is no part of what was said there. */
export const Effect = z.object({
  resets: z.literal(true).optional(),
  prefers: Preferences.optional(),
  /** A title for the session, or none. */
  label: z.object({ at: instant, text: z.string().optional() }).optional(),
});
export type Effect = z.infer<typeof Effect>;

/** The top of a tree of summaries, as its session's document knows it. What it stands for, turns with numbers in a row, all stays. */
export const Root = z.object({
  id: z.string(),
  /** 0 stands for turns, others for summaries of the depth below. */
  depth: count,
  from: count,
  to: count,
  messages: count,
  /** What it stands for, and what it takes itself. */
  chars: count,
  size: count,
});
export type Root = z.infer<typeof Root>;

/**
 * One document per session, and the only one that says whose turn it is: a mailbox with a lease. What was said is in the turns
 * themselves: those that are done, of this epoch, with a number up to `lastSeq`, in that order.
 */
export const SessionDocument = z.object({
  key: z.string(),
  agentId: z.string(),
  userId: z.string(),
  channelId: z.string(),
  guildId: z.string().optional(),
  kind: SessionKind,
  /** Names the conversation since the session was made or last emptied. */
  epoch: z.string(),
  /** What is to be done, in the order of acceptance (`model/queue-entry.ts`). Whoever holds the lease works on the first. */
  queue: z.array(z.string()),
  /** How long the queue is: a write can be guarded by a number and not by a length. */
  depth: count,
  /** How many turns were taken out of the queue because they were cancelled while they waited in it. */
  withdrawn: count.optional(),
  /** Who is at work, or was last. */
  owner: z.string().nullable(),
  /** Until when, by the database's clock; 0 where nobody is. */
  leaseUntil: instant,
  /** Grows with each lease, and begins with the time, so that a session that is made again never repeats one. */
  fence: count,
  /** The agent that the first of the queue is for, and its lane (`model/queue-entry.ts`), while it waits with nobody at work; absent otherwise. */
  waitsFor: z.string().optional(),
  /** Since when the first of the queue waits, while nobody is at work; absent otherwise. */
  runnableAt: instant.optional(),
  /** When somebody asked something last, where what is said in quick succession is gathered. */
  askedAt: instant.optional(),
  /** The last lease ran out: whoever held it may have begun. */
  lapsed: z.boolean().optional(),
  /** The number of the last turn that was counted. Turns of all epochs share the numbers. */
  lastSeq: count,
  messageCount: count,
  inputTokens: count,
  outputTokens: count,
  costUsd: z.number().nonnegative(),
  lastSteps: count,
  /** The client whose turn made it. Absent in a document of before this was remembered, which is nobody's own. */
  createdBy: z.string().optional(),
  metadata: json(z.record(z.string(), z.unknown())),
  /** A short title, and when somebody last gave it one or took it away. */
  label: z.string().optional(),
  labelledAt: instant.optional(),
  prefers: Preferences.optional(),
  /** How long all is that was said in this epoch. */
  chars: count.optional(),
  /** The summaries of what was said first, oldest first; what comes after the last of them stands for itself. */
  roots: z.array(Root).optional(),
  /** Somebody makes a summary, until then at most; the number of the last one who did. */
  compactUntil: instant.optional(),
  compactFence: count.optional(),
  /** The number of the last turn there was when a summary was made last. */
  compactSeq: count.optional(),
  /** How often it was asked what was said earlier, and on which day that was (days since 1970). */
  recalls: count.optional(),
  recallDay: count.optional(),
  /** When this epoch began, where that is not when the session did. */
  since: instant.optional(),
  createdAt: instant,
  updatedAt: instant,
});
export type SessionDocument = z.infer<typeof SessionDocument>;

/** What somebody said: the text itself, or the digest of a body when it is long. */
export const Said = z.object({ chars: count, text: z.string().optional(), body: z.string().optional() });
export type Said = z.infer<typeof Said>;

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
  agents: HeldToAgents.optional(),
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

/** A long text of a turn: a question, an answer, what a tool said. Written before the document that names it, and never changed. */
export const BodyDocument = z.object({ id: z.string(), turnId: z.string(), text: z.string(), forgetAt: instant.optional() });
export type BodyDocument = z.infer<typeof BodyDocument>;

/** A summary of part of a conversation, never changed. Nobody sees one that no root leads to. */
export const SummaryDocument = Root.extend({
  epoch: z.string(),
  sessionKey: z.string(),
  /** The summaries that it stands for; none where it stands for turns. */
  children: z.array(z.string()),
  text: z.string(),
  /** Some of it may come from outside of the conversation. */
  taint: z.boolean(),
  /** Since when it is to be remembered; absent where it is not to be, or the memory service has it (`context/compaction/summary-distillation.ts`). */
  undistilled: instant.optional(),
  createdAt: instant,
  forgetAt: instant.optional(),
});
export type SummaryDocument = z.infer<typeof SummaryDocument>;

/** An epoch that is, or was about to be, over: its turns are nobody's history any more. */
export const GoneDocument = z.object({ epoch: z.string(), sessionKey: z.string(), at: instant });
export type GoneDocument = z.infer<typeof GoneDocument>;

/** A stateless turn that was asked for with a key: all that is kept of it, for a day. */
export const KeptDocument = z.object({
  ...leaseFields,
  /** The caller's key, led by the caller. */
  key: z.string(),
  turnId: z.string(),
  client: z.string(),
  fingerprint: z.string(),
  head: AnswerHead,
  /** A tool was called: it must not be again. */
  acted: z.boolean(),
  /** The answer, as JSON. */
  answer: Said.optional(),
  /** All that was said on the way to it, where that is more. */
  text: Said.optional(),
  failure: json(TurnFailure).optional(),
  /** The number of the last frame, once it has ended. */
  lastFrame: count.optional(),
  endedAt: instant.optional(),
  /** Of a response: what was asked (`stateless/stored-request.ts`). Whoever claims it can run it. */
  asked: Said.optional(),
  /** The same, so that it can be looked for. */
  rerun: z.literal(true).optional(),
  /** How many characters each piece had in which a response was told. */
  pieces: Said.optional(),
  forgetAt: instant,
});
export type KeptDocument = z.infer<typeof KeptDocument>;

/** How much of something was used, or is set aside, in one stretch of time (`budgets/budget-store.ts`). */
export const BudgetDocument = z.object({ id: z.string(), used: z.int(), forgetAt: instant });
export type BudgetDocument = z.infer<typeof BudgetDocument>;

export const DAY_MS = 86_400_000;
/** How long a response is kept. */
export const RESPONSE_MS = 30 * DAY_MS;
const BODY_BYTES = 8_388_608;
const TURN_BYTES = 262_144;

export const sessionCollection = collection({
  name: 'sessions',
  schema: SessionDocument,
  key: 'key',
  indexes: [
    { fields: ['updatedAt'] },
    { fields: ['kind', 'updatedAt'] },
    { fields: ['label', 'updatedAt'], sparse: true },
    { fields: ['createdBy', 'updatedAt'] },
    { fields: ['createdBy', 'channelId', 'updatedAt'] },
    { fields: ['waitsFor', 'runnableAt'], across: true, sparse: true },
    { fields: ['leaseUntil'], across: true },
  ],
});

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

export const bodyCollection = collection({
  name: 'bodies',
  schema: BodyDocument,
  key: 'id',
  maxBytes: BODY_BYTES,
  indexes: [{ fields: ['turnId'] }],
  expires: { field: 'forgetAt', afterMs: 0 },
});

export const keptCollection = collection({
  name: 'kept',
  schema: KeptDocument,
  key: 'key',
  indexes: [
    { fields: ['turnId'] },
    { fields: ['state', 'leaseUntil'], across: true },
    { fields: ['rerun', 'state', 'leaseUntil'], across: true, sparse: true },
  ],
  expires: { field: 'forgetAt', afterMs: 0 },
});

export const summaryCollection = collection({
  name: 'summaries',
  schema: SummaryDocument,
  key: 'id',
  indexes: [{ fields: ['epoch'] }, { fields: ['undistilled'], across: true, sparse: true }],
  expires: { field: 'forgetAt', afterMs: 0 },
});

export const budgetCollection = collection({
  name: 'budgets',
  schema: BudgetDocument,
  key: 'id',
  expires: { field: 'forgetAt', afterMs: 0 },
});

/** What the calls of one agent to one model found in the caches of its provider, in one day of UTC (`cache-stats/cache-stats.ts`). */
export const CachedDocument = z.object({
  id: z.string(),
  agentId: z.string(),
  provider: z.string(),
  model: z.string(),
  /** When the day began. */
  day: instant,
  calls: count,
  hits: count,
  cachedTokens: count,
  costUsd: z.number(),
  savedUsd: z.number(),
  forgetAt: instant,
});
export type CachedDocument = z.infer<typeof CachedDocument>;

export const cachedCollection = collection({
  name: 'cached',
  schema: CachedDocument,
  key: 'id',
  indexes: [{ fields: ['day'] }, { fields: ['agentId', 'day'] }],
  expires: { field: 'forgetAt', afterMs: 0 },
});

export const goneCollection = collection({
  name: 'gone',
  schema: GoneDocument,
  key: 'epoch',
  indexes: [{ fields: ['at'], across: true }],
});
