import type { Collection } from 'mongodb';
import { mintId } from '@switchyard/security';
import { CLAIM_MARGIN_MS, CLAIM_MS, pauseAfter, type Debt, type Ledger } from '../outbox/outbox-publisher.ts';
import type { OutboxEvent } from '../port/store.ts';
import { atMost } from './connection/wait-at-most.ts';
import { claimUntil, endedBy, heldBy, NOBODYS } from './publication-lease.ts';
import type { Kept, OwedEntry } from './stored-document.ts';
import type { Owing } from './outbox-write.ts';
import { createSettler, type Held } from './outbox-completion.ts';
import { IN_TIME } from './connection/timeouts.ts';

/** The events that writes owe the world, in the documents themselves. */
export interface MongoLedger extends Ledger {
  /** Undefined for a write without events. */
  owe(events: readonly OutboxEvent[]): Owing | undefined;
  /** The write is kept. It publishes what it owes itself, unless somebody had a claim on the document before. */
  wrote(document: WrittenDocument, owing: Owing | undefined, claimBefore: string | undefined): void;
}

export interface WrittenDocument {
  collection: Collection<Kept>;
  id: string;
  tenant: string;
}

export interface LedgerOptions {
  now: () => number;
  /** Every collection that may owe. */
  collections: () => readonly Collection<Kept>[];
  /** Where events are kept that are refused for good. */
  refused: Collection<RefusedEvent>;
}

interface RefusedEvent extends OwedEntry {
  tenant: string;
  document: string;
  at: number;
}

/** What others left is looked for about once a second, not with every write. */
const LOOK_MS = 950;
/** More than these are not remembered: they are found in the database once nobody's claim is on them. */
const MOST_FRESH = 10_000;
const LET_GO_MS = 2_000;

export function createLedger({ now, collections, refused }: LedgerOptions): MongoLedger {
  const owner = mintId('own');
  /** What our own writes owe, not yet begun; the oldest first. */
  const fresh = new Map<string, Held>();
  const held = new Map<string, Held>();
  const settler = createSettler(owner);
  let nextLook = 0;

  function takeFresh(limit: number, except: ReadonlySet<string>): Debt[] {
    const debts: Debt[] = [];
    for (const [document, debt] of fresh) {
      if (debts.length === limit) break;
      if (except.has(document)) continue;
      fresh.delete(document);
      if (debt.until < now() + CLAIM_MARGIN_MS) continue; // whoever looks for it will find it
      held.set(document, debt);
      debts.push(debtOf(document, debt));
    }
    return debts;
  }

  /** Claims what nobody holds any more. */
  async function look(limit: number, except: ReadonlySet<string>): Promise<Debt[]> {
    const found = await Promise.all(collections().map((collection) => expired(collection, limit, except)));
    const claimed = await Promise.all(found.flat().slice(0, limit).map(takeOver));
    nextLook = found.flat().length < limit ? now() + LOOK_MS : 0;
    return claimed.filter((debt) => debt !== null);
  }

  async function expired(collection: Collection<Kept>, limit: number, except: ReadonlySet<string>) {
    const rows = await collection
      .find({ claim: endedBy(now()) }, { sort: { claim: 1 }, limit: limit + except.size, projection: { claim: 1 }, ...IN_TIME })
      .toArray();
    return rows.filter(({ _id }) => !except.has(nameOf(collection, _id))).map((row) => ({ collection, row }));
  }

  async function takeOver({ collection, row }: { collection: Collection<Kept>; row: Pick<Kept, '_id' | 'claim'> }): Promise<Debt | null> {
    const until = now() + CLAIM_MS;
    const claim = { $set: { claim: claimUntil(until, owner) } };
    const kept = await collection.findOneAndUpdate({ _id: row._id, claim: row.claim ?? '' }, claim, IN_TIME);
    if (kept === null) return null;
    const debt: Held = {
      collection,
      id: kept._id,
      tenant: kept.tenant ?? kept.gone ?? '',
      until,
      failures: kept.failures ?? 0,
      events: [],
    };
    numbered(debt, kept.owed ?? []);
    const document = nameOf(collection, kept._id);
    if (debt.events.length > 0) {
      held.set(document, debt);
      return debtOf(document, debt);
    }
    await settler.clear(debt);
    return null;
  }

  return {
    owe(events) {
      const entries = events.map(({ name, payload }) => ({ id: mintId('evt'), name, payload: JSON.stringify(payload ?? null) }));
      const last = entries.at(-1)?.id;
      if (last === undefined) return undefined;
      const owing: Owing = { entries, last, until: 0, claim: () => claimUntil((owing.until = now() + CLAIM_MS), owner) };
      return owing;
    },

    wrote({ collection, id, tenant }, owing, claimBefore) {
      if (owing === undefined || claimBefore !== undefined) return;
      const debt: Held = { collection, id, tenant, until: owing.until, failures: 0, events: [] };
      numbered(debt, owing.entries);
      const document = nameOf(collection, id);
      fresh.delete(document);
      fresh.set(document, debt);
      const [oldest] = fresh.keys();
      if (fresh.size > MOST_FRESH && oldest !== undefined) fresh.delete(oldest);
    },

    async take(limit, except) {
      const own = takeFresh(limit, except);
      if (own.length === limit || now() < nextLook) return own;
      return [...own, ...(await look(limit - own.length, except))];
    },

    async renew(documents) {
      const claim = claimUntil(now() + CLAIM_MS, owner);
      const mine = documents.flatMap((document) => held.get(document) ?? []);
      const kept = new Set<string>();
      await Promise.all(
        mine.map(async (debt) => {
          const { matchedCount } = await debt.collection.updateOne({ _id: debt.id, claim: heldBy(owner) }, { $set: { claim } }, IN_TIME);
          if (matchedCount === 1) kept.add(nameOf(debt.collection, debt.id));
        }),
      );
      return documents.filter((document) => !kept.has(document));
    },

    async settle(document, seq) {
      const debt = held.get(document);
      if (debt === undefined) return null;
      const end = (): void => void (held.get(document) === debt && held.delete(document));
      const left = await settler.settle(debt, seq).catch((error: unknown) => {
        end();
        throw error;
      });
      if (left.length === 0) {
        end();
        return null;
      }
      numbered(debt, left);
      return debtOf(document, debt);
    },

    async setAside(document, seq) {
      const debt = held.get(document);
      const event = debt?.events.find((one) => one.seq === seq);
      if (debt === undefined || event === undefined) return;
      const { id, name, payload } = event;
      const kept = { id, name, payload, tenant: debt.tenant, document, at: now() };
      await refused.updateOne({ id }, { $setOnInsert: kept }, { upsert: true, ...IN_TIME });
    },

    async putOff(document) {
      const debt = held.get(document);
      if (debt === undefined) return;
      held.delete(document);
      const failures = debt.failures + 1;
      const until = now() + pauseAfter(failures);
      const claim = claimUntil(until, owner);
      nextLook = Math.min(nextLook, until);
      await debt.collection.updateOne({ _id: debt.id, claim: heldBy(owner) }, { $set: { claim, failures } }, IN_TIME);
    },

    async release() {
      const free = { $set: { claim: NOBODYS } };
      await atMost(LET_GO_MS, Promise.all(collections().map((one) => one.updateMany({ claim: heldBy(owner) }, free, IN_TIME))));
    },
  };
}

function nameOf({ collectionName }: Collection<Kept>, id: string): string {
  return `${collectionName}\n${id}`;
}

/** Numbers go on, so that a number means one event of a document for as long as it is held. */
function numbered(debt: Held, entries: readonly OwedEntry[]): void {
  const from = debt.events.at(-1)?.seq ?? 0;
  debt.events = entries.map((entry, n) => ({ ...entry, tenant: debt.tenant, seq: from + n + 1 }));
}

function debtOf(document: string, { events }: Held): Debt {
  return { document, events };
}
