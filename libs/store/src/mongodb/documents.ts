import { requireAcross } from '../port/cross-tenant-query.ts';
import type { Document } from '../port/collection.ts';
import { decodeCursor, encodeCursor } from '../port/cursor.ts';
import { misuse } from '../port/store-misuse.ts';
import { fromStored } from '../port/collection-shape.ts';
import type { Documents, Filter, FindOptions, Page } from '../port/store.ts';
import { changeFirst } from './update-document.ts';
import { idOf, type Kept, type KeptCollection } from './stored-document.ts';
import { after, orderOf, positionOf, type Sort } from './sort-order.ts';
import { insertDocument, replaceDocument } from './put-document.ts';
import { pointOf, where, type Query, type Scope } from './query.ts';
import { removeMatching } from './remove-documents.ts';
import type { Session } from './session.ts';
import { IN_TIME } from './connection/timeouts.ts';

const DEFAULT_LIMIT = 100;

/** The documents of one tenant, or of all (a null scope). Everything is checked before it is asked. */
export function createDocuments(session: Session, kept: KeptCollection, scope: Scope): Documents<Document> {
  const { name } = kept.spec;
  const requireServed = (filter: Filter<Document>, sort: Sort = [], paged = false): void => {
    if (session.strict && scope === null) requireAcross(kept, { filter, sort, paged });
  };

  return {
    async get(key) {
      if (scope === null) throw misuse(name, 'a document is got from a tenant');
      const id = idOf(scope, key);
      const row = await session.inLane({ name, id }, () => kept.documents.findOne({ _id: id }, IN_TIME));
      return row === null ? null : read(kept, scope, row);
    },

    insert: async (document, options = {}) => insertDocument(session, kept, { scope, document, emit: options.emit }),
    replace: async (document, options = {}) => replaceDocument(session, kept, { scope, document, emit: options.emit, if: options.if }),

    async update(filter, change) {
      requireServed({ ...change.if, ...filter });
      return changeFirst(session, kept, { scope, filter, change });
    },

    async claim(filter, change, { sort } = {}) {
      requireServed({ ...change.if, ...filter }, sort);
      return changeFirst(session, kept, { scope, filter, change, sort });
    },

    async find(filter, options = {}) {
      requireServed(filter, options.sort, true);
      return findPage(session, kept, { scope, filter, options });
    },

    async count(filter) {
      requireServed(filter);
      const query = where(kept, scope, [filter]);
      return query === null ? 0 : session.run(name, () => kept.documents.countDocuments(query, IN_TIME));
    },

    async remove(filter) {
      requireServed(filter);
      const query = where(kept, scope, [filter]);
      if (query === null) return 0;
      return session.inLane({ name, id: pointOf(query) }, () => removeMatching(kept, query));
    },
  };
}

interface PageSearch {
  scope: Scope;
  filter: Filter<Document>;
  options: FindOptions<Document>;
}

async function findPage(session: Session, kept: KeptCollection, { scope, filter, options }: PageSearch): Promise<Page<Document>> {
  const { limit = DEFAULT_LIMIT, sort = [], cursor } = options;
  if (!Number.isInteger(limit) || limit < 1) throw misuse(kept.spec.name, 'a limit must be a positive integer');
  const order = orderOf(kept, scope, sort);
  const matching = where(kept, scope, [filter]);
  const position = cursor === undefined ? undefined : decodeCursor(cursor, order.signature, order.terms.length);
  if (matching === null) return { items: [] };
  const query: Query = position === undefined ? matching : { $and: [matching, after(order, scope, position)] };
  const some = { sort: order.sort, limit: limit + 1, batchSize: limit + 1, ...IN_TIME };
  const rows = await session.run(kept.spec.name, () => kept.documents.find(query, some).toArray());
  const items = rows
    .slice(0, limit)
    .map((row) => read(kept, scope, row))
    .filter((item) => item !== null);
  const last = items.at(-1);
  if (rows.length <= limit || last === undefined) return { items };
  return { items, cursor: encodeCursor(order.signature, positionOf(kept, order, last)) };
}

/** What is read across tenants says whose it is. */
function read(kept: KeptCollection, scope: Scope, { doc, tenant }: Kept): Document | null {
  if (doc === undefined) return null;
  const document = fromStored(kept, doc);
  if (scope === null) document['tenant'] = tenant;
  return document;
}
