import { z } from 'zod';
import { collection, json } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';

/** `sub-agent` if another session spawned it, `group` if it has a guild, otherwise `dm`. */
export const SessionKind = z.enum(['sub-agent', 'group', 'dm']);

/** Settings chosen by commands in a session. */
export const Preferences = z.object({
  at: instant,
  /** Model of the session, as `provider/model`. */
  model: z.string().optional(),
  /** Token budget of the next turn. */
  budget: count.optional(),
});
export type Preferences = z.infer<typeof Preferences>;

/** Change that a command applies to its session when the turn is dequeued. It is not part of the conversation. */
export const Effect = z.object({
  resets: z.literal(true).optional(),
  preferences: Preferences.optional(),
  /** New title; without `text` the title is removed. */
  label: z.object({ at: instant, text: z.string().optional() }).optional(),
});
export type Effect = z.infer<typeof Effect>;

/** Root of a summary tree. It covers turns with consecutive numbers, which are kept. */
export const Root = z.object({
  id: z.string(),
  /** 0 covers turns; higher depths cover summaries of the depth below. */
  depth: count,
  from: count,
  to: count,
  messages: count,
  /** Characters of the covered text, and of the summary itself. */
  chars: count,
  size: count,
});
export type Root = z.infer<typeof Root>;

/**
 * One document per session: its queue, its lease and its totals. The messages are stored in the turns: the history is the turns that are
 * done, of this epoch, with `seq` up to `lastSeq`, in that order.
 */
export const SessionDocument = z.object({
  key: z.string(),
  agentId: z.string(),
  userId: z.string(),
  channelId: z.string(),
  guildId: z.string().optional(),
  kind: SessionKind,
  /** Identifies the conversation since the session was created or last reset. */
  epoch: z.string(),
  /** Entries in order of acceptance (`model/queue-entry.ts`). The lease holder works on the first one. */
  queue: z.array(z.string()),
  /** Length of the queue. Write guards can compare a number but not an array length. */
  depth: count,
  /** Number of entries removed because their turn was cancelled while it waited. */
  removedCount: count.optional(),
  /** Replica that holds the lease, or held it last. */
  owner: z.string().nullable(),
  /** Lease expiry by the database clock; 0 when the lease is free. */
  leaseUntil: instant,
  /** Increases with each lease. Starts at the creation time, so that a recreated session never repeats a value. */
  fence: count,
  /** Agent, lane and client of the queue head (`model/queue-entry.ts`). Set only while the head waits and no replica holds the lease. */
  waitsFor: z.string().optional(),
  /** Time since which the queue head can run. Set only while no replica holds the lease. */
  runnableAt: instant.optional(),
  /** Time of the last message, kept where messages are debounced. */
  lastMessageAt: instant.optional(),
  /** The last lease expired, so its holder may have started the queue head. */
  lapsed: z.boolean().optional(),
  /** Number of the last counted turn. All epochs of a session share one sequence. */
  lastSeq: count,
  messageCount: count,
  inputTokens: count,
  outputTokens: count,
  costUsd: z.number().nonnegative(),
  lastSteps: count,
  /** Client whose turn created the session. Without it the session belongs to no client. */
  createdBy: z.string().optional(),
  metadata: json(z.record(z.string(), z.unknown())),
  /** Title of the session, and the time of its last change. */
  label: z.string().optional(),
  labelledAt: instant.optional(),
  preferences: Preferences.optional(),
  /** Characters of all messages of this epoch. */
  chars: count.optional(),
  /** Characters of tool results, other checkpoints and summaries of this epoch. They count towards the storage quota. */
  extraChars: count.optional(),
  /** Summaries of the oldest turns, oldest first. Turns after the last root are included verbatim. */
  roots: z.array(Root).optional(),
  /** Lease and fence of the running compaction. */
  compactUntil: instant.optional(),
  compactFence: count.optional(),
  /** Number of the last turn when the last summary was made. */
  compactSeq: count.optional(),
  /** Number of history lookups, and the day they are counted for (days since 1970). */
  recalls: count.optional(),
  recallDay: count.optional(),
  /** Start of this epoch, if it is later than the creation of the session. */
  epochStartedAt: instant.optional(),
  createdAt: instant,
  updatedAt: instant,
});
export type SessionDocument = z.infer<typeof SessionDocument>;

/** An epoch that has ended or is about to end. Its turns are no longer part of the history. */
export const EndedEpochDocument = z.object({ epoch: z.string(), sessionKey: z.string(), at: instant });
export type EndedEpochDocument = z.infer<typeof EndedEpochDocument>;

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

export const endedEpochCollection = collection({
  name: 'gone',
  schema: EndedEpochDocument,
  key: 'epoch',
  indexes: [{ fields: ['at'], across: true }],
});

/** Title field of a reply; empty when the session has no title. */
export function labelField({ label }: Pick<SessionDocument, 'label'>): { label?: string } {
  return label === undefined ? {} : { label };
}
