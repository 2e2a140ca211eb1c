import type { Change, OutboxEvent } from '@switchyard/store';
import { z } from 'zod';

export const WorkState = z.enum(['queued', 'running', 'parked', 'done', 'failed', 'cancelled']);

const instant = z.int().nonnegative();

/** Schema fields of a work document. */
export const workFields = {
  state: WorkState.default('queued'),
  /** The current or last lease holder. */
  owner: z.string().nullable().default(null),
  /** Expiry in epoch ms of the database's clock; 0 without a lease holder. */
  leaseUntil: instant.default(0),
  /** Increases with each claim. Writes with an older fence are rejected. */
  fence: z.int().nonnegative().default(0),
  /** Runs since the document was added or parked. */
  attempts: z.int().nonnegative().default(0),
  /** Counts the wakes, so that a wake during a run prevents the document from parking. */
  wakes: z.int().nonnegative().default(0),
  /**
   * The next time a replica may claim the document; the end of the lease while it runs; absent after the end. In the line of a room, the
   * time at which a replica checks that the room is visited.
   */
  dueAt: instant.optional(),
  /** The content of the request that added the document, if its key may be reused by mistake. */
  fingerprint: z.string().optional(),
  /** The room in whose line the document waits. */
  waitRoom: z.string().optional(),
  /** The time from which the document may start, which is its place in the line. */
  waitAt: instant.optional(),
  /** The order of documents with the same `waitAt`. */
  waitOrder: z.int().nonnegative().optional(),
  /** The room whose slot the document holds, and the number of the slot. A slot has one holder. */
  slotRoom: z.string().optional(),
  slot: z.int().nonnegative().optional(),
};

/** The index that finds due work across tenants. */
export const workIndex = { fields: ['dueAt'], across: true, sparse: true } as const;

/** The further indexes and the unique set of a collection whose documents use rooms. */
export const roomIndexes = [
  { fields: ['waitRoom', 'waitAt', 'waitOrder'], across: true, sparse: true },
  { fields: ['slotRoom'], sparse: true },
] as const;
export const roomSlots = ['slotRoom', 'slot'] as const;

const NewWork = z.object(workFields);
export type WorkDocument = z.infer<typeof NewWork>;

/** Returns the work fields of a new document. */
export function newWork(): WorkDocument {
  return NewWork.parse({});
}

/** Fields that a caller may set; only this library changes the work fields. */
export type Fields<D> = Partial<Omit<D, keyof WorkDocument>>;

/** A change that leaves the work fields alone. */
export interface WorkChange<D> extends Omit<Change<D>, 'if' | 'set'> {
  set?: Fields<D>;
}

interface OutcomeDetails<D> {
  set?: Fields<D>;
  emit?: readonly OutboxEvent[];
  /** Called after the outcome was written, or with false if the lease was lost before. Readers of the document are notified here. */
  onSettled?: (isWritten: boolean) => void | Promise<void>;
}

/**
 * How a run leaves its document. A parked document holds no process; its attempts count from zero. With `keepSlot` it also stays in its
 * room, which counts work that another service does for the document. A run that throws keeps its slot, because such work may go on.
 */
export type Outcome<D> = OutcomeDetails<D> &
  ({ end: 'done' | 'failed' | 'cancelled' } | { retryAt: number; keepSlot?: boolean } | { parkUntil: number; keepSlot?: boolean });
