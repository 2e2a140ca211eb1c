import { setTimeout as wait } from 'node:timers/promises';
import type { Filter as MongoFilter } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import { compileChange, type CompiledChange } from '../port/compile-change.ts';
import type { Document } from '../port/collection.ts';
import { fromStored, requireSize } from '../port/collection-shape.ts';
import type { Change, Filter } from '../port/store.ts';
import { isDuplicateKey, isUnfit } from './connection/errors.ts';
import { uniqueOf, type Kept, type KeptCollection } from './stored-document.ts';
import { nativeChange, updateOf, type NativeChange } from './native-update.ts';
import { orderOf, type Sort } from './sort-order.ts';
import { writeOwing, type Owing } from './outbox-write.ts';
import { pointOf, where, type Query, type Scope } from './query.ts';
import type { Session } from './session.ts';
import { taken } from './duplicate-key.ts';
import { IN_TIME } from './connection/timeouts.ts';

const MAX_DOCUMENT_BYTES = 1_048_576;
/** So often is tried again what others change in between, waiting a little longer each time. */
const ATTEMPTS = 50;
const LONGEST_WAIT_MS = 50;

export interface FirstChange {
  scope: Scope;
  filter: Filter<Document>;
  change: Change<Document>;
  sort?: Sort | undefined;
}

/** A change of the first document that a query finds. */
interface Wanted {
  query: Query;
  options: { sort?: Record<string, 1 | -1>; maxTimeMS: number };
  change: CompiledChange;
  owing: Owing | undefined;
}

/** What the server gives back is the document as it was; what it has become follows from the change, whatever others do meanwhile. */
export async function changeFirst(
  session: Session,
  kept: KeptCollection,
  { scope, filter, change, sort }: FirstChange,
): Promise<Document | null> {
  const compiled = compileChange(kept, change);
  const query = where(kept, scope, [filter, change.if ?? {}]);
  const order = sort === undefined ? {} : { sort: orderOf(kept, scope, sort).sort };
  if (query === null) return null;
  const wanted: Wanted = {
    query,
    options: { ...order, ...IN_TIME },
    change: compiled,
    owing: session.ledger.owe(change.emit ?? []),
  };
  const native = nativeChange(kept, scope, compiled);
  return session.inLane({ name: kept.spec.name, id: pointOf(query) }, async () => {
    try {
      const before = (native && (await changeNatively(kept, wanted, native))) ?? (await changeWhole(kept, wanted));
      return before === null ? null : changed(session, kept, { before, wanted, scope });
    } catch (error) {
      throw isDuplicateKey(error) ? taken(kept, error) : error;
    }
  });
}

interface Changed {
  before: Kept;
  wanted: Wanted;
  scope: Scope;
}

function changed({ ledger }: Session, kept: KeptCollection, { before, wanted, scope }: Changed): Document {
  const { _id: id, tenant = '', doc = {}, claim } = before;
  ledger.wrote({ collection: kept.documents, id, tenant }, wanted.owing, claim);
  wanted.change.apply(doc);
  const document = fromStored(kept, doc);
  return scope === null ? { ...document, tenant } : document;
}

/** One step of the server's. Null when nothing matches, when the document may become too large, or when it does not fit the change. */
async function changeNatively(kept: KeptCollection, { query, options, owing }: Wanted, native: NativeChange): Promise<Kept | null> {
  const { growth } = native;
  const room: MongoFilter<Kept> = growth === 0 ? {} : { bytes: { $lte: (kept.spec.maxBytes ?? MAX_DOCUMENT_BYTES) - growth } };
  const update = updateOf({ ...native, inc: { ...native.inc, rev: 1, bytes: growth } });
  const fitting = { ...query, ...room } as MongoFilter<Kept>;
  try {
    return await writeOwing(fitting, update, owing, (free, owed) => kept.documents.findOneAndUpdate(free, owed, options));
  } catch (error) {
    if (isUnfit(error)) return null;
    throw error;
  }
}

/** Reads, changes, and puts the whole document back if nobody came between. */
async function changeWhole(kept: KeptCollection, { query, options, change, owing }: Wanted): Promise<Kept | null> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const found = await kept.documents.findOne(query, options);
    if (found === null) return null;
    const { _id, rev, tenant = '', doc = {} } = found;
    const textBefore = JSON.stringify(doc);
    change.apply(doc);
    const text = JSON.stringify(doc);
    requireSize(kept, text, textBefore);
    const set = { doc, unique: uniqueOf(kept, tenant, doc), bytes: Buffer.byteLength(text) };
    const update = updateOf({ set, unset: {}, inc: { rev: 1 }, push: {}, pull: {} });
    const before = await writeOwing({ _id, rev }, update, owing, (same, owed) => kept.documents.findOneAndUpdate(same, owed, IN_TIME));
    if (before !== null) return before;
    await wait(Math.random() * Math.min(attempt, LONGEST_WAIT_MS));
  }
  throw new ServiceError('ABORTED', `${kept.spec.name}: others change the same document all the time`);
}
