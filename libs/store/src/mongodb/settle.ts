import type { Collection } from 'mongodb';
import type { OwedEvent } from '../publisher.ts';
import type { Kept, OwedEntry } from './kept.ts';

/** A document whose events are this store's to publish. */
export interface Held {
  collection: Collection<Kept>;
  id: string;
  tenant: string;
  claim: string;
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
export function createSettler(): Settler {
  const waiting = new Map<Collection<Kept>, Waiting[]>();

  function flush(): void {
    for (const [collection, settled] of waiting) {
      settleAll(collection, settled).catch((error: unknown) => settled.forEach(({ reject }) => reject(error)));
    }
    waiting.clear();
  }

  return {
    settle(debt, seq) {
      const last = debt.events.at(-1);
      if (last === undefined || last.seq > seq) return takeOut(debt, seq);
      return new Promise((resolve, reject) => {
        if (waiting.size === 0) setImmediate(flush);
        const settled = waiting.get(debt.collection) ?? [];
        waiting.set(debt.collection, settled);
        settled.push({ debt, last: last.id, resolve, reject });
      });
    },
    async clear({ collection, id, claim }) {
      const { deletedCount } = await collection.deleteOne({ _id: id, claim, gone: { $exists: true }, 'owed.0': { $exists: false } });
      if (deletedCount === 0) await collection.updateOne({ _id: id, claim, 'owed.0': { $exists: false } }, { $unset: OWED });
    },
  };
}

/**
 * Whatever a document owed up to an event that was published has been published too, whoever holds it now. So a document whose last
 * event is one of ours owes nothing more.
 */
async function settleAll(collection: Collection<Kept>, settled: readonly Waiting[]): Promise<void> {
  const ids = settled.map(({ debt }) => debt.id);
  const paid = { _id: { $in: ids }, last: { $in: settled.map(({ last }) => last) } };
  const { modifiedCount } = await collection.updateMany({ ...paid, gone: { $exists: false } }, { $unset: OWED });
  if (modifiedCount < settled.length) await collection.deleteMany({ ...paid, gone: { $exists: true } });
  const rest =
    modifiedCount === settled.length
      ? []
      : await collection.find({ _id: { $in: ids }, last: { $exists: true } }, { projection: { _id: 1 } }).toArray();
  const owing = new Set(rest.map(({ _id }) => _id));
  for (const { debt, resolve, reject } of settled) {
    if (!owing.has(debt.id)) resolve([]);
    else takeOut(debt, debt.events.at(-1)?.seq ?? 0).then(resolve, reject);
  }
}

/** One document, of which more is owed than we knew, or less is paid. */
async function takeOut({ collection, id, claim, events }: Held, seq: number): Promise<OwedEntry[]> {
  const paid = events.filter((event) => event.seq <= seq).map((event) => event.id);
  const before = await collection.findOneAndUpdate(
    { _id: id, claim },
    { $pull: { owed: { id: { $in: paid } } }, $unset: { failures: '' } },
  );
  return (before?.owed ?? []).filter((entry) => !paid.includes(entry.id));
}
