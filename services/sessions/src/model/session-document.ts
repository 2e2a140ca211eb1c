import { z } from 'zod';
import { collection, json } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';

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

/** An epoch that is, or was about to be, over: its turns are nobody's history any more. */
export const GoneDocument = z.object({ epoch: z.string(), sessionKey: z.string(), at: instant });
export type GoneDocument = z.infer<typeof GoneDocument>;

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

export const goneCollection = collection({
  name: 'gone',
  schema: GoneDocument,
  key: 'epoch',
  indexes: [{ fields: ['at'], across: true }],
});

/** The title of a session as answers have it, where it has one. */
export function labelOf({ label }: Pick<SessionDocument, 'label'>): { label?: string } {
  return label === undefined ? {} : { label };
}
