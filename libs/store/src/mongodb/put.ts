import type { Filter as MongoFilter } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import type { Document } from '../collection.ts';
import { misuse } from '../misuse.ts';
import { completeDocument, fromStored, requireSize } from '../shape.ts';
import type { Filter, OutboxEvent } from '../store.ts';
import { isDuplicateKey } from './errors.ts';
import { idOf, uniqueOf, type Kept, type KeptCollection } from './kept.ts';
import type { Owing } from './ledger.ts';
import { updateOf } from './native.ts';
import { where, type Scope } from './query.ts';
import { SERVER_MS, type Session } from './session.ts';
import { isKeyTaken, taken } from './taken.ts';

export interface Put {
  scope: Scope;
  document: Document;
  emit?: readonly OutboxEvent[] | undefined;
  if?: Filter<Document> | undefined;
}

/** So often is tried what others put in and remove all the while. */
const ATTEMPTS = 10;
const IN_TIME = { maxTimeMS: SERVER_MS };

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
      if (placed !== null) return written(session, kept, ready, placed.claim);
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
      try {
        const before = await place(kept, ready, guarded ?? { _id: id }, guarded === undefined);
        return before === null && guarded !== undefined ? null : written(session, kept, ready, before?.claim);
      } catch (error) {
        // Of two that put in the same new document at once the second finds what the first has put in.
        if (!isDuplicateKey(error) || !isKeyTaken(kept, error)) throw isDuplicateKey(error) ? taken(kept, error) : error;
      }
    }
    throw tooBusy(kept);
  });
}

/** What stood there before; null when what was in the way is gone by now. */
async function placeNew(kept: KeptCollection, ready: Ready): Promise<Pick<Kept, 'claim'> | null> {
  const { id, fields, owing } = ready;
  const debt = owing === undefined ? {} : { owed: owing.entries, last: owing.last, claim: owing.claim };
  try {
    await kept.documents.insertOne({ _id: id, rev: 1, ...fields, ...debt }, IN_TIME);
    return {};
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    if (!isKeyTaken(kept, error)) throw taken(kept, error);
    const present = await kept.documents.findOne({ _id: id }, { projection: { gone: 1 }, ...IN_TIME });
    if (present === null) return null;
    if (present.gone === undefined) throw taken(kept, error);
  }
  // It was removed, and its events are not published yet.
  return place(kept, ready, { _id: id, gone: { $exists: true } }, false).catch((error: unknown) => {
    throw isDuplicateKey(error) ? taken(kept, error) : error;
  });
}

/** Puts the document where a query finds one, or where there is none. Gives what was there. */
function place(kept: KeptCollection, { fields, owing }: Ready, query: MongoFilter<Kept>, upsert: boolean): Promise<Kept | null> {
  const own = { set: fields, unset: { gone: '' }, inc: { rev: 1 }, push: {}, pull: {} } as const;
  return kept.documents.findOneAndUpdate(query, updateOf(own, owing), { upsert, projection: { claim: 1 }, ...IN_TIME });
}

function written(
  { ledger }: Session,
  kept: KeptCollection,
  { id, stored, fields, owing }: Ready,
  claimBefore: string | undefined,
): Document {
  ledger.wrote({ collection: kept.documents, id, tenant: fields.tenant }, owing, claimBefore);
  return fromStored(kept, stored);
}

function tooBusy({ spec }: KeptCollection): ServiceError {
  return new ServiceError('ABORTED', `${spec.name}: others change the same document all the time`);
}
