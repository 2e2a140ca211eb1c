import type { Collection } from 'mongodb';
import type { OwedEvent } from '../outbox/outbox-publisher.ts';
import { heldBy } from './publication-lease.ts';
import type { Kept, OwedEntry } from './stored-document.ts';
import { IN_TIME } from './connection/timeouts.ts';

/** A document whose events are this store's to publish. */
export interface Held {
  collection: Collection<Kept>;
  id: string;
  tenant: string;
  /** Until when it is, unless that was renewed. */
  until: number;
  failures: number;
  events: readonly OwedEvent[];
}

/** Takes what was published out of the documents. */
export interface Settler {
  /** Gives what the document still owes to us; nothing when that is somebody else's by now. */
  settle(debt: Held, seq: number): Promise<OwedEntry[]>;
  /** Ends a claim on a document that owes nothing; one that was removed goes. */
  clear(debt: Held): Promise<void>;
}

interface Waiting {
  debt: Held;
  last: string;
  resolve: (left: OwedEntry[]) => void;
  reject: (error: unknown) => void;
}

const OWED = { owed: '', last: '', claim: '', failures: '' } as const;

/** What is published in the same turn of the event loop is settled by one command for each collection. */
export function createSettler(owner: string): Settler {
  const waiting = new Map<Collection<Kept>, Waiting[]>();

  function flush(): void {
    for (const [collection, settled] of waiting) {
      settleAll(collection, settled, owner).catch((error: unknown) => settled.forEach(({ reject }) => reject(error)));
    }
    waiting.clear();
  }

  return {
    settle(debt, seq) {
      const last = debt.events.at(-1);
      if (last === undefined || last.seq > seq) return takeOut(debt, seq, owner);
      return new Promise((resolve, reject) => {
        if (waiting.size === 0) setImmediate(flush);
        const settled = waiting.get(debt.collection) ?? [];
        waiting.set(debt.collection, settled);
        settled.push({ debt, last: last.id, resolve, reject });
      });
    },
    async clear({ collection, id }) {
      const owingNothing = { _id: id, claim: heldBy(owner), 'owed.0': { $exists: false } };
      const { deletedCount } = await collection.deleteOne({ ...owingNothing, gone: { $exists: true } }, IN_TIME);
      if (deletedCount === 0) await collection.updateOne(owingNothing, { $unset: OWED }, IN_TIME);
    },
  };
}

/**
 * Whatever a document owed up to an event that was published has been published too, whoever holds it now. So a document whose last
 * event is one of ours owes nothing more.
 */
async function settleAll(collection: Collection<Kept>, settled: readonly Waiting[], owner: string): Promise<void> {
  const paid = { _id: { $in: settled.map(({ debt }) => debt.id) }, last: { $in: settled.map(({ last }) => last) } };
  const { modifiedCount } = await collection.updateMany({ ...paid, gone: { $exists: false } }, { $unset: OWED }, IN_TIME);
  const owing = modifiedCount === settled.length ? new Set<string>() : await settleRest(collection, paid);
  for (const { debt, resolve, reject } of settled) {
    if (!owing.has(debt.id)) resolve([]);
    else takeOut(debt, debt.events.at(-1)?.seq ?? 0, owner).then(resolve, reject);
  }
}

/** Documents that were removed go; gives the ids of those that owe more. */
async function settleRest(collection: Collection<Kept>, paid: { _id: { $in: string[] }; last: { $in: string[] } }): Promise<Set<string>> {
  await collection.deleteMany({ ...paid, gone: { $exists: true } }, IN_TIME);
  const owing = { _id: paid._id, last: { $exists: true } };
  const rows = await collection.find(owing, { projection: { _id: 1 }, ...IN_TIME }).toArray();
  return new Set(rows.map(({ _id }) => _id));
}

/** One document, of which more is owed than we knew, or less is paid. Its claim may be renewed this very moment. */
async function takeOut({ collection, id, events }: Held, seq: number, owner: string): Promise<OwedEntry[]> {
  const paid = events.filter((event) => event.seq <= seq).map((event) => event.id);
  const takePaid = { $pull: { owed: { id: { $in: paid } } }, $unset: { failures: '' } } as const;
  const before = await collection.findOneAndUpdate({ _id: id, claim: heldBy(owner) }, takePaid, IN_TIME);
  return (before?.owed ?? []).filter((entry) => !paid.includes(entry.id));
}
