import { collection, inserted, type Collection, type Document } from '@switchyard/store';
import { z } from 'zod';
import type { WorkDocument } from './work-document.ts';

export type AnyWork = Document & WorkDocument;

/** A limit that documents share, such as an agent, a chat or a graph. With a maximum of 1 they run in the order of their acceptance. */
export interface Room {
  key: string;
  /** Documents that run at once on all replicas. */
  max: number;
}

export const RoomDocument = z.object({
  /** Tenant and key of the room. */
  room: z.string(),
  /** The next time at which a replica visits the room. The room with the earliest time has waited longest. */
  readyAt: z.int().nonnegative(),
  /** Increases with each change that a concurrent visit may have missed. */
  bell: z.int().nonnegative(),
});
export type RoomDocument = z.infer<typeof RoomDocument>;

/** Declares the collection of the rooms of one work collection. */
export function roomCollection(name: string) {
  return collection({ name, schema: RoomDocument, key: 'room', indexes: [{ fields: ['readyAt'], across: true }] });
}

export interface RoomOptions<D> {
  documents: Collection<RoomDocument>;
  resolve: (document: D, tenant: string) => Room;
}

/** Fields of a claim. */
export interface ClaimFields {
  owner: string;
  leaseUntil: number;
}

export interface ClaimedDocument {
  tenant: string;
  document: AnyWork;
}

/** The lines and slots of all rooms. */
export interface Rooms {
  getName(tenant: string, document: AnyWork): string;
  /** Returns whether the documents of the room run strictly in order. */
  isStrict(tenant: string, document: AnyWork): boolean;
  /** Returns the fields with which a new document waits behind all documents that were accepted before. */
  enter(tenant: string, document: AnyWork, dueAt: number): Promise<Partial<WorkDocument>>;
  /** Makes replicas visit the room at this time, or earlier. `create` is required after a document entered the line. */
  ring(tenant: string, name: string, at: number, options?: { create: boolean }): Promise<void>;
  /** Claims the first document of the room that has waited longest; undefined if no room is ready. */
  claim(fields: () => ClaimFields): Promise<ClaimedDocument | undefined>;
  /** Returns the time of the next visit. */
  getNextVisit(): Promise<number>;
  /** Rings the rooms of documents whose writer crashed before it rang. Returns whether there were any. */
  recover(): Promise<boolean>;
}

export interface RoomsDeps {
  work: Collection<AnyWork>;
  rooms: RoomOptions<AnyWork>;
  now: () => number;
  /** A room is visited again after this time if its visitor crashes. */
  leaseMs: number;
}

/** Differences between the clocks of replicas do not change the order of acceptance. */
const MAX_CLOCK_SKEW_MS = 50;
/** Bounds the delay if a cancelled slot holder crashes before it rings. */
const MAX_DEFERRAL_MS = 300_000;
const MAX_VISITS = 100;
/** The ring of a document in a line is repeated after this time, unless the document has started. */
const RECOVERY_MS = 60_000;
const RECOVERY_BATCH_SIZE = 20;

export function createRooms({ work, rooms, now, leaseMs }: RoomsDeps): Rooms {
  const getName = (tenant: string, document: AnyWork): string => `${tenant} ${rooms.resolve(document, tenant).key}`;

  async function ring(tenant: string, room: string, at: number, { create } = { create: false }): Promise<void> {
    const own = rooms.documents.for({ tenant });
    for (;;) {
      if (await own.update({ room, readyAt: { gt: at } }, { set: { readyAt: at }, inc: { bell: 1 } })) return;
      if (await own.update({ room }, { inc: { bell: 1 } })) return;
      // The bell of a room that was removed and inserted again does not repeat.
      if (!create || (await inserted(() => own.insert({ room, readyAt: at, bell: now() * 1_000 })))) return;
    }
  }

  /** Returns the first free slot; otherwise the time of the next visit. */
  async function findSlot(tenant: string, name: string, max: number): Promise<{ slot: number } | { readyAt: number | undefined }> {
    const holders = (await work.for({ tenant }).find({ slotRoom: name }, { limit: Math.max(max, 1) })).items;
    const used = new Set(holders.map(({ slot }) => slot));
    for (let slot = 0; slot < max && holders.length < max; slot += 1) if (!used.has(slot)) return { slot };
    const nextAt = Math.min(...holders.map(({ dueAt = 0 }) => dueAt));
    return { readyAt: nextAt > now() + leaseMs ? Math.min(nextAt, now() + MAX_DEFERRAL_MS) : undefined };
  }

  /** Claims the first document of one room. The visit moves the room behind all other rooms. */
  async function visit(fields: () => ClaimFields): Promise<ClaimedDocument | 'nothing' | undefined> {
    const visited = await rooms.documents
      .system()
      .claim({ readyAt: { lte: now() } }, { set: { readyAt: now() + leaseMs }, inc: { bell: 1 } }, { sort: [['readyAt', 'asc']] });
    if (!visited) return undefined;
    const { tenant, room: name, bell } = visited;
    const own = rooms.documents.for({ tenant });
    /** A miss means that the room was rung meanwhile. */
    const visitAt = (readyAt: number) => own.update({ room: name, bell }, { set: { readyAt } });
    const line = await work.system().find({ waitRoom: name }, { sort: FIRST, limit: 2 });
    const [first, second] = line.items;
    const max = first ? rooms.resolve(first, tenant).max : 1;
    const found = await findSlot(tenant, name, max);
    if (!first) {
      if ('slot' in found) await own.remove({ room: name, bell });
      else if (found.readyAt !== undefined) await visitAt(found.readyAt);
      return 'nothing';
    }
    if ((first.waitAt ?? 0) > now()) {
      await visitAt(first.waitAt ?? 0);
      return 'nothing';
    }
    if (!('slot' in found)) {
      if (found.readyAt !== undefined) await visitAt(found.readyAt);
      return 'nothing';
    }
    const key = String(first[work.key]);
    const claimed = await claimSlot(tenant, key, { fence: first.fence, name, slot: found.slot }, fields());
    // A strict room is full now. The end of this document rings it.
    if (!claimed || (second && max > 1)) await visitAt(claimed ? Math.max(second?.waitAt ?? 0, now()) : now());
    return claimed ? { tenant, document: claimed } : 'nothing';
  }

  async function claimSlot(
    tenant: string,
    key: string,
    { fence, name, slot }: { fence: number; name: string; slot: number },
    { owner, leaseUntil }: ClaimFields,
  ): Promise<AnyWork | null> {
    let claimed: AnyWork | null = null;
    // The slot is unique, so that a concurrent claim of another document fails.
    await inserted(async () => {
      claimed = await work.for({ tenant }).update(
        { [work.key]: key, waitRoom: name, fence },
        {
          set: { state: 'running', owner, leaseUntil, dueAt: leaseUntil, slotRoom: name, slot },
          unset: ['waitRoom', 'waitAt', 'waitOrder'],
          inc: { fence: 1, attempts: 1 },
        },
      );
    });
    return claimed;
  }

  return {
    getName,
    isStrict: (tenant, document) => rooms.resolve(document, tenant).max === 1,
    async enter(tenant, document, dueAt) {
      const waitRoom = getName(tenant, document);
      const before = { waitRoom, waitAt: { lte: dueAt + MAX_CLOCK_SKEW_MS } };
      const [last] = (await work.system().find(before, { sort: LAST, limit: 1 })).items;
      if (last?.waitAt === undefined || last.waitAt < dueAt) return getLineFields(waitRoom, dueAt);
      return { ...getLineFields(waitRoom, last.waitAt), waitOrder: (last.waitOrder ?? 0) + 1 };
    },
    ring,
    async claim(fields) {
      for (let n = 0; n < MAX_VISITS; n += 1) {
        const claimed = await visit(fields);
        if (claimed !== 'nothing') return claimed;
      }
      return undefined;
    },
    async getNextVisit() {
      const next = await rooms.documents.system().find({ readyAt: { gt: 0 } }, { sort: [['readyAt', 'asc']], limit: 1 });
      return next.items[0]?.readyAt ?? Infinity;
    },
    async recover() {
      const missed = { dueAt: { lte: now() }, waitRoom: { exists: true } };
      const { items } = await work.system().find(missed, { sort: [['dueAt', 'asc']], limit: RECOVERY_BATCH_SIZE });
      for (const { tenant, waitRoom = '', dueAt, ...document } of items) {
        await ring(tenant, waitRoom, now(), { create: true });
        await work.for({ tenant }).update({ [work.key]: document[work.key], waitRoom, dueAt }, { unset: ['dueAt'] });
      }
      return items.length > 0;
    },
  };
}

/** Returns the fields of a document that may start from this time, in the line of a room. */
export function getLineFields(waitRoom: string, waitAt: number) {
  return { waitRoom, ...getTurnFields(waitAt) };
}

export function getTurnFields(waitAt: number) {
  return { waitAt, waitOrder: 0, dueAt: waitAt + RECOVERY_MS };
}

const FIRST = [
  ['waitAt', 'asc'],
  ['waitOrder', 'asc'],
] as const;
const LAST = [
  ['waitAt', 'desc'],
  ['waitOrder', 'desc'],
] as const;
