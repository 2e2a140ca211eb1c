import type { Filter as MongoFilter } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import type { Document } from '../port/collection.ts';
import { misuse } from '../port/store-misuse.ts';
import { completeDocument, fromStored, requireSize } from '../port/collection-shape.ts';
import type { Filter, OutboxEvent } from '../port/store.ts';
import { isDuplicateKey } from './connection/errors.ts';
import { idOf, uniqueOf, type Kept, type KeptCollection } from './stored-document.ts';
import { updateOf } from './native-update.ts';
import { writeOwing, type Owing } from './outbox-write.ts';
import { where, type Query, type Scope } from './query.ts';
import type { Session } from './session.ts';
import { IN_TIME } from './connection/timeouts.ts';
import { isKeyTaken, taken } from './duplicate-key.ts';

export interface Put {
  scope: Scope;
  document: Document;
  emit?: readonly OutboxEvent[] | undefined;
  if?: Filter<Document> | undefined;
}

/** So often is tried what others put in and remove all the while. */
const ATTEMPTS = 10;

/** A document as it will be kept, checked. */
interface Ready {
  id: string;
  stored: Document;
  fields: Required<Pick<Kept, 'tenant' | 'doc' | 'unique' | 'bytes'>>;
  owing: Owing | undefined;
}

function prepare({ ledger }: Session, kept: KeptCollection, { scope, document, emit = [] }: Put): Ready {
  if (scope === null) throw misuse(kept.spec.name, 'a document is put in for a tenant');
  const stored = completeDocument(kept, document);
  const text = JSON.stringify(stored);
  requireSize(kept, text);
  const fields = { tenant: scope, doc: stored, unique: uniqueOf(kept, scope, stored), bytes: Buffer.byteLength(text) };
  return { id: idOf(scope, String(stored[kept.spec.key])), stored, fields, owing: ledger.owe(emit) };
}

export async function insertDocument(session: Session, kept: KeptCollection, put: Put): Promise<Document> {
  const ready = prepare(session, kept, put);
  return session.inLane({ name: kept.spec.name, id: ready.id }, async () => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const placed = await placeNew(kept, ready);
      if (placed !== null) return written(session, kept, ready, placed);
    }
    throw tooBusy(kept);
  });
}

export async function replaceDocument(session: Session, kept: KeptCollection, put: Put): Promise<Document | null> {
  const ready = prepare(session, kept, put);
  const { id, stored } = ready;
  const guarded = put.if === undefined ? undefined : where(kept, put.scope, [{ [kept.spec.key]: stored[kept.spec.key] }, put.if]);
  if (guarded === null) return null;
  return session.inLane({ name: kept.spec.name, id }, async () => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const placed = await placeOver(kept, ready, guarded);
      if (placed !== null) return written(session, kept, ready, placed);
      // A claim that came or went just then hides a document too.
      if (guarded !== undefined && (await kept.documents.findOne(guarded, { projection: { _id: 1 }, ...IN_TIME })) === null) return null;
    }
    throw tooBusy(kept);
  });
}

/** What stood there before, if anything; null when nothing was written. */
async function placeOver(kept: KeptCollection, ready: Ready, guarded: Query | undefined): Promise<Pick<Kept, 'claim'> | null> {
  try {
    const before = await place(kept, ready, guarded ?? { _id: ready.id });
    if (before !== null || guarded !== undefined) return before;
    await putIn(kept, ready);
    return {};
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    // Of two that put in the same new document at once the second finds what the first has put in.
    if (isKeyTaken(kept, error)) return null;
    throw taken(kept, error);
  }
}

/** Nothing, or the claim on what was removed there and still owes; null when what was in the way is gone by now. */
async function placeNew(kept: KeptCollection, ready: Ready): Promise<Pick<Kept, 'claim'> | null> {
  const { id } = ready;
  try {
    await putIn(kept, ready);
    return {};
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    if (!isKeyTaken(kept, error)) throw taken(kept, error);
    const present = await kept.documents.findOne({ _id: id }, { projection: { gone: 1 }, ...IN_TIME });
    if (present === null) return null;
    if (present.gone === undefined) throw taken(kept, error);
  }
  return place(kept, ready, { _id: id, gone: { $exists: true } }).catch((error: unknown) => {
    throw isDuplicateKey(error) ? taken(kept, error) : error;
  });
}

async function putIn(kept: KeptCollection, { id, fields, owing }: Ready): Promise<void> {
  const debt = owing === undefined ? {} : { owed: owing.entries, last: owing.last, claim: owing.claim() };
  await kept.documents.insertOne({ _id: id, rev: 1, ...fields, ...debt }, IN_TIME);
}

/** Puts the document where a query finds one. Gives what was there. */
function place(kept: KeptCollection, { fields, owing }: Ready, query: MongoFilter<Kept>): Promise<Kept | null> {
  const update = updateOf({ set: fields, unset: { gone: '' }, inc: { rev: 1 }, push: {}, pull: {} });
  const options = { projection: { claim: 1 }, ...IN_TIME };
  return writeOwing(query, update, owing, (one, owed) => kept.documents.findOneAndUpdate(one, owed, options));
}

function written({ ledger }: Session, kept: KeptCollection, { id, stored, fields, owing }: Ready, before: Pick<Kept, 'claim'>): Document {
  ledger.wrote({ collection: kept.documents, id, tenant: fields.tenant }, owing, before.claim);
  return fromStored(kept, stored);
}

function tooBusy({ spec }: KeptCollection): ServiceError {
  return new ServiceError('ABORTED', `${spec.name}: others change the same document all the time`);
}
