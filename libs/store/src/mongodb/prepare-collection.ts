import { MongoServerError, type Db, type IndexDescription } from 'mongodb';
import type { CollectionShape } from '../port/collection-shape.ts';
import type { StoreLog } from '../port/store.ts';
import { buildValidator } from './json-schema.ts';
import type { StoredDocument, StoredCollection } from './stored-document.ts';

const NAMESPACE_EXISTS = 48;
const COMMAND_NOT_FOUND = 59;
const UNAUTHORIZED = 13;

/**
 * Creates what is missing. Indexes that no declaration names any more stay: during an upgrade replicas of the version before still
 * need theirs. Documents are never touched.
 */
export async function prepareCollection(db: Db, shape: CollectionShape, log: StoreLog | undefined): Promise<StoredCollection> {
  const { name } = shape.spec;
  const sets = (shape.spec.unique ?? []).map((fields) => [fields.join('+'), fields] as const);
  const collection = { ...shape, documents: db.collection<StoredDocument>(name), unique: new Map(sets) };
  await installValidator(db, shape, log);
  await collection.documents.createIndexes(buildIndexes(collection));
  return collection;
}

/** Each led by the tenant, unless it is for all of them, and ended by what orders equals. */
function buildIndexes({ spec, unique }: StoredCollection): IndexDescription[] {
  const path = (field: string): string => (field === spec.key ? '_id' : `doc.${field}`);
  const declared = (spec.indexes ?? []).map(({ fields, across }) =>
    across === true ? [...fields.map((field) => `doc.${field}`), '_id'] : ['tenant', ...fields.map(path), '_id'],
  );
  const indexes: IndexDescription[] = declared.map((paths) => ({ key: Object.fromEntries(paths.map((one) => [one, 1])) }));
  for (const name of unique.keys()) indexes.push({ key: { [`unique.${name}`]: 1 }, unique: true, sparse: true });
  if (spec.expires) indexes.push({ key: { [`doc.${spec.expires.field}`]: 1 }, sparse: true });
  indexes.push({ key: { lease: 1 }, sparse: true });
  return indexes;
}

/** Where the server has `$jsonSchema` and lets us, it holds writes against the types of the fields. */
async function installValidator(db: Db, shape: CollectionShape, log: StoreLog | undefined): Promise<void> {
  const { name } = shape.spec;
  const validator = buildValidator(shape);
  try {
    await db.createCollection(name, { validator });
    return;
  } catch (error) {
    if (!hasCode(error, NAMESPACE_EXISTS)) throw error;
  }
  const [known] = await db.listCollections({ name }, { nameOnly: false }).toArray();
  if (JSON.stringify(known?.options?.['validator']) === JSON.stringify(validator)) return;
  try {
    await db.command({ collMod: name, validator });
  } catch (error) {
    if (hasCode(error, COMMAND_NOT_FOUND)) return;
    if (!hasCode(error, UNAUTHORIZED)) throw error;
    const hint = 'its user needs the role dbAdmin on its database for that; writes are checked by the service alone';
    log?.warn({ collection: name, errorKind: 'config', hint }, 'the schema of a collection in the database is not up to date');
  }
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof MongoServerError && error.code === code;
}
