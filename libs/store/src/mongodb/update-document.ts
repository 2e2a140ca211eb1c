import { setTimeout as wait } from 'node:timers/promises';
import type { Filter as MongoFilter } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import { compileChange, type CompiledChange } from '../port/compile-change.ts';
import type { Document } from '../port/collection.ts';
import { fromStored, requireSize } from '../port/collection-shape.ts';
import type { Change, Filter } from '../port/store.ts';
import { isDuplicateKey, isTypeMismatch } from './connection/errors.ts';
import { collectUniqueTexts, type StoredDocument, type StoredCollection } from './stored-document.ts';
import { compileNativeUpdate, buildUpdate, type NativeUpdate } from './native-update.ts';
import { buildOrder, type Sort } from './sort-order.ts';
import { writeWithOutbox, type OutboxWrite } from './outbox-write.ts';
import { getDocumentId, buildFilter, type Query, type Scope } from './query.ts';
import type { Session } from './session.ts';
import { alreadyExists } from './duplicate-key.ts';
import { SERVER_TIMEOUT } from './connection/timeouts.ts';

const MAX_DOCUMENT_BYTES = 1_048_576;
/** Attempts while other replicas change the document. The delay grows with each attempt. */
const MAX_ATTEMPTS = 50;
const MAX_RETRY_DELAY_MS = 50;

export interface UpdateRequest {
  scope: Scope;
  filter: Filter<Document>;
  change: Change<Document>;
  sort?: Sort | undefined;
}

/** A validated change of the first document that matches a query. */
interface PreparedUpdate {
  query: Query;
  options: { sort?: Record<string, 1 | -1>; maxTimeMS: number };
  change: CompiledChange;
  outboxWrite: OutboxWrite | undefined;
}

/** Changes the first matching document. The server returns the document before the change; the result is computed from it. */
export async function updateFirst(
  session: Session,
  collection: StoredCollection,
  { scope, filter, change, sort }: UpdateRequest,
): Promise<Document | null> {
  const compiled = compileChange(collection, change);
  const query = buildFilter(collection, scope, [filter, change.if ?? {}]);
  const order = sort === undefined ? {} : { sort: buildOrder(collection, scope, sort).sort };
  if (query === null) return null;
  const prepared: PreparedUpdate = {
    query,
    options: { ...order, ...SERVER_TIMEOUT },
    change: compiled,
    outboxWrite: session.outbox.prepareEvents(change.emit ?? []),
  };
  const native = compileNativeUpdate(collection, scope, compiled);
  return session.runInOrder({ name: collection.spec.name, id: getDocumentId(query) }, async () => {
    try {
      const before = (native && (await updateOnServer(collection, prepared, native))) ?? (await replaceStored(collection, prepared));
      return before === null ? null : finishUpdate(session, collection, { before, prepared, scope });
    } catch (error) {
      throw isDuplicateKey(error) ? alreadyExists(collection, error) : error;
    }
  });
}

interface UpdatedDocument {
  before: StoredDocument;
  prepared: PreparedUpdate;
  scope: Scope;
}

function finishUpdate({ outbox }: Session, collection: StoredCollection, { before, prepared, scope }: UpdatedDocument): Document {
  const { _id: id, tenant = '', doc = {}, lease } = before;
  outbox.registerWrite({ collection: collection.documents, id, tenant }, prepared.outboxWrite, lease);
  prepared.change.apply(doc);
  const document = fromStored(collection, doc);
  return scope === null ? { ...document, tenant } : document;
}

/** Updates with MongoDB operators. Returns null if no document matches, it may become too large, or a type does not fit the change. */
async function updateOnServer(
  collection: StoredCollection,
  { query, options, outboxWrite }: PreparedUpdate,
  native: NativeUpdate,
): Promise<StoredDocument | null> {
  const { growth } = native;
  const room: MongoFilter<StoredDocument> =
    growth === 0 ? {} : { bytes: { $lte: (collection.spec.maxBytes ?? MAX_DOCUMENT_BYTES) - growth } };
  const update = buildUpdate({ ...native, inc: { ...native.inc, rev: 1, bytes: growth } });
  const fitting = { ...query, ...room } as MongoFilter<StoredDocument>;
  try {
    return await writeWithOutbox(fitting, update, outboxWrite, (filter, change) =>
      collection.documents.findOneAndUpdate(filter, change, options),
    );
  } catch (error) {
    if (isTypeMismatch(error)) return null;
    throw error;
  }
}

/** Reads the document, changes it and writes it back if its revision is unchanged. */
async function replaceStored(
  collection: StoredCollection,
  { query, options, change, outboxWrite }: PreparedUpdate,
): Promise<StoredDocument | null> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const found = await collection.documents.findOne(query, options);
    if (found === null) return null;
    const { _id, rev, tenant = '', doc = {} } = found;
    const textBefore = JSON.stringify(doc);
    change.apply(doc);
    const text = JSON.stringify(doc);
    requireSize(collection, text, textBefore);
    const set = { doc, unique: collectUniqueTexts(collection, tenant, doc), bytes: Buffer.byteLength(text) };
    const update = buildUpdate({ set, unset: {}, inc: { rev: 1 }, push: {}, pull: {} });
    const before = await writeWithOutbox({ _id, rev }, update, outboxWrite, (filter, change) =>
      collection.documents.findOneAndUpdate(filter, change, SERVER_TIMEOUT),
    );
    if (before !== null) return before;
    await wait(Math.random() * Math.min(attempt, MAX_RETRY_DELAY_MS));
  }
  throw new ServiceError('ABORTED', `${collection.spec.name}: too many concurrent changes of the same document`);
}
