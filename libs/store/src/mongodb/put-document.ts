import type { Filter as MongoFilter } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import type { Document } from '../port/collection.ts';
import { misuseError } from '../port/store-misuse.ts';
import { completeDocument, fromStored, requireSize } from '../port/collection-shape.ts';
import type { Filter, OutboxEvent } from '../port/store.ts';
import { isDuplicateKey } from './connection/errors.ts';
import { createDocumentId, collectUniqueTexts, type StoredDocument, type StoredCollection } from './stored-document.ts';
import { buildUpdate } from './native-update.ts';
import { writeWithOutbox, type OutboxWrite } from './outbox-write.ts';
import { buildFilter, type Query, type Scope } from './query.ts';
import type { Session } from './session.ts';
import { SERVER_TIMEOUT } from './connection/timeouts.ts';
import { isDuplicateId, alreadyExists } from './duplicate-key.ts';

export interface PutRequest {
  scope: Scope;
  document: Document;
  emit?: readonly OutboxEvent[] | undefined;
  if?: Filter<Document> | undefined;
}

/** Attempts while other replicas insert and remove the same document. */
const MAX_ATTEMPTS = 10;

/** A validated document in its stored form. */
interface PreparedDocument {
  id: string;
  stored: Document;
  fields: Required<Pick<StoredDocument, 'tenant' | 'doc' | 'unique' | 'bytes'>>;
  outboxWrite: OutboxWrite | undefined;
}

function prepareDocument({ outbox }: Session, collection: StoredCollection, { scope, document, emit = [] }: PutRequest): PreparedDocument {
  if (scope === null) throw misuseError(collection.spec.name, 'insert and replace require a tenant');
  const stored = completeDocument(collection, document);
  const text = JSON.stringify(stored);
  requireSize(collection, text);
  const fields = { tenant: scope, doc: stored, unique: collectUniqueTexts(collection, scope, stored), bytes: Buffer.byteLength(text) };
  return { id: createDocumentId(scope, String(stored[collection.spec.key])), stored, fields, outboxWrite: outbox.prepareEvents(emit) };
}

export async function insertDocument(session: Session, collection: StoredCollection, put: PutRequest): Promise<Document> {
  const ready = prepareDocument(session, collection, put);
  return session.runInOrder({ name: collection.spec.name, id: ready.id }, async () => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const placed = await putNew(collection, ready);
      if (placed !== null) return finishPut(session, collection, ready, placed);
    }
    throw concurrentChanges(collection);
  });
}

export async function replaceDocument(session: Session, collection: StoredCollection, put: PutRequest): Promise<Document | null> {
  const ready = prepareDocument(session, collection, put);
  const { id, stored } = ready;
  const guarded =
    put.if === undefined ? undefined : buildFilter(collection, put.scope, [{ [collection.spec.key]: stored[collection.spec.key] }, put.if]);
  if (guarded === null) return null;
  return session.runInOrder({ name: collection.spec.name, id }, async () => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const placed = await putOrReplace(collection, ready, guarded);
      if (placed !== null) return finishPut(session, collection, ready, placed);
      // A lease that appeared or disappeared in between also leads to null.
      if (guarded !== undefined && (await collection.documents.findOne(guarded, { projection: { _id: 1 }, ...SERVER_TIMEOUT })) === null)
        return null;
    }
    throw concurrentChanges(collection);
  });
}

/** Returns the previous document (empty for an insert), or null if nothing was written. */
async function putOrReplace(
  collection: StoredCollection,
  ready: PreparedDocument,
  guarded: Query | undefined,
): Promise<Pick<StoredDocument, 'lease'> | null> {
  try {
    const before = await replaceStored(collection, ready, guarded ?? { _id: ready.id });
    if (before !== null || guarded !== undefined) return before;
    await insertStored(collection, ready);
    return {};
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    // A concurrent insert of the same document succeeded first.
    if (isDuplicateId(collection, error)) return null;
    throw alreadyExists(collection, error);
  }
}

/** Returns the lease of a deleted document with pending events, if any; null if a conflicting document has just disappeared. */
async function putNew(collection: StoredCollection, ready: PreparedDocument): Promise<Pick<StoredDocument, 'lease'> | null> {
  const { id } = ready;
  try {
    await insertStored(collection, ready);
    return {};
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    if (!isDuplicateId(collection, error)) throw alreadyExists(collection, error);
    const present = await collection.documents.findOne({ _id: id }, { projection: { deletedTenant: 1 }, ...SERVER_TIMEOUT });
    if (present === null) return null;
    if (present.deletedTenant === undefined) throw alreadyExists(collection, error);
  }
  return replaceStored(collection, ready, { _id: id, deletedTenant: { $exists: true } }).catch((error: unknown) => {
    throw isDuplicateKey(error) ? alreadyExists(collection, error) : error;
  });
}

async function insertStored(collection: StoredCollection, { id, fields, outboxWrite }: PreparedDocument): Promise<void> {
  const pending =
    outboxWrite === undefined ? {} : { outbox: outboxWrite.entries, lastEventId: outboxWrite.lastEventId, lease: outboxWrite.startLease() };
  await collection.documents.insertOne({ _id: id, rev: 1, ...fields, ...pending }, SERVER_TIMEOUT);
}

/** Replaces the document that matches the query and returns the previous one. */
function replaceStored(
  collection: StoredCollection,
  { fields, outboxWrite }: PreparedDocument,
  query: MongoFilter<StoredDocument>,
): Promise<StoredDocument | null> {
  const update = buildUpdate({ set: fields, unset: { deletedTenant: '' }, inc: { rev: 1 }, push: {}, pull: {} });
  const options = { projection: { lease: 1 }, ...SERVER_TIMEOUT };
  return writeWithOutbox(query, update, outboxWrite, (filter, change) => collection.documents.findOneAndUpdate(filter, change, options));
}

function finishPut(
  { outbox }: Session,
  collection: StoredCollection,
  { id, stored, fields, outboxWrite }: PreparedDocument,
  before: Pick<StoredDocument, 'lease'>,
): Document {
  outbox.registerWrite({ collection: collection.documents, id, tenant: fields.tenant }, outboxWrite, before.lease);
  return fromStored(collection, stored);
}

function concurrentChanges({ spec }: StoredCollection): ServiceError {
  return new ServiceError('ABORTED', `${spec.name}: too many concurrent changes of the same document`);
}
