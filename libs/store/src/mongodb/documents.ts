import { requireCrossTenantIndex } from '../port/cross-tenant-query.ts';
import type { Document } from '../port/collection.ts';
import { decodeCursor, encodeCursor } from '../port/cursor.ts';
import { misuseError } from '../port/store-misuse.ts';
import { fromStored } from '../port/collection-shape.ts';
import type { Documents, Filter, FindOptions, Page } from '../port/store.ts';
import { updateFirst } from './update-document.ts';
import { createDocumentId, type StoredDocument, type StoredCollection } from './stored-document.ts';
import { buildCursorCondition, buildOrder, getCursorPosition, type Sort } from './sort-order.ts';
import { insertDocument, replaceDocument } from './put-document.ts';
import { getDocumentId, buildFilter, type Query, type Scope } from './query.ts';
import { removeMatching } from './remove-documents.ts';
import type { Session } from './session.ts';
import { SERVER_TIMEOUT } from './connection/timeouts.ts';

const DEFAULT_LIMIT = 100;

/** Creates access to the documents of a tenant, or of all tenants (null scope). Validates before it sends a command. */
export function createDocuments(session: Session, collection: StoredCollection, scope: Scope): Documents<Document> {
  const { name } = collection.spec;
  const requireServed = (filter: Filter<Document>, sort: Sort = [], paged = false): void => {
    if (session.strict && scope === null) requireCrossTenantIndex(collection, { filter, sort, paged });
  };

  return {
    async get(key) {
      if (scope === null) throw misuseError(name, 'get requires a tenant');
      const id = createDocumentId(scope, key);
      const row = await session.runInOrder({ name, id }, () => collection.documents.findOne({ _id: id }, SERVER_TIMEOUT));
      return row === null ? null : read(collection, scope, row);
    },

    insert: async (document, options = {}) => insertDocument(session, collection, { scope, document, emit: options.emit }),
    replace: async (document, options = {}) =>
      replaceDocument(session, collection, { scope, document, emit: options.emit, if: options.if }),

    async update(filter, change) {
      requireServed({ ...change.if, ...filter });
      return updateFirst(session, collection, { scope, filter, change });
    },

    async claim(filter, change, { sort } = {}) {
      requireServed({ ...change.if, ...filter }, sort);
      return updateFirst(session, collection, { scope, filter, change, sort });
    },

    async find(filter, options = {}) {
      requireServed(filter, options.sort, true);
      return findPage(session, collection, { scope, filter, options });
    },

    async count(filter) {
      requireServed(filter);
      const query = buildFilter(collection, scope, [filter]);
      return query === null ? 0 : session.run(name, () => collection.documents.countDocuments(query, SERVER_TIMEOUT));
    },

    async remove(filter) {
      requireServed(filter);
      const query = buildFilter(collection, scope, [filter]);
      if (query === null) return 0;
      return session.runInOrder({ name, id: getDocumentId(query) }, () => removeMatching(collection, query));
    },
  };
}

interface PageSearch {
  scope: Scope;
  filter: Filter<Document>;
  options: FindOptions<Document>;
}

async function findPage(session: Session, collection: StoredCollection, { scope, filter, options }: PageSearch): Promise<Page<Document>> {
  const { limit = DEFAULT_LIMIT, sort = [], cursor } = options;
  if (!Number.isInteger(limit) || limit < 1) throw misuseError(collection.spec.name, 'a limit must be a positive integer');
  const order = buildOrder(collection, scope, sort);
  const matching = buildFilter(collection, scope, [filter]);
  const position = cursor === undefined ? undefined : decodeCursor(cursor, order.signature, order.terms.length);
  if (matching === null) return { items: [] };
  const query: Query = position === undefined ? matching : { $and: [matching, buildCursorCondition(order, scope, position)] };
  const some = { sort: order.sort, limit: limit + 1, batchSize: limit + 1, ...SERVER_TIMEOUT };
  const rows = await session.run(collection.spec.name, () => collection.documents.find(query, some).toArray());
  const items = rows
    .slice(0, limit)
    .map((row) => read(collection, scope, row))
    .filter((item) => item !== null);
  const last = items.at(-1);
  if (rows.length <= limit || last === undefined) return { items };
  return { items, cursor: encodeCursor(order.signature, getCursorPosition(collection, order, last)) };
}

/** Adds the tenant to documents that are read across tenants. */
function read(collection: StoredCollection, scope: Scope, { doc, tenant }: StoredDocument): Document | null {
  if (doc === undefined) return null;
  const document = fromStored(collection, doc);
  if (scope === null) document['tenant'] = tenant;
  return document;
}
