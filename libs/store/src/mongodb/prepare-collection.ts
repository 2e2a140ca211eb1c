import { MongoServerError, type Db, type IndexDescription } from 'mongodb';
import type { CollectionShape } from '../port/collection-shape.ts';
import type { StoreLog } from '../port/store.ts';
import { buildValidator } from './json-schema.ts';
import type { StoredDocument, StoredCollection } from './stored-document.ts';

const NAMESPACE_EXISTS = 48;
const COMMAND_NOT_FOUND = 59;
const UNAUTHORIZED = 13;

/**
 * Creates the collection, its validator and its indexes. Undeclared indexes stay, because replicas of the previous version need them
 * during an upgrade. Documents stay unchanged.
 */
export async function prepareCollection(db: Db, shape: CollectionShape, log: StoreLog | undefined): Promise<StoredCollection> {
  const { name } = shape.spec;
  const sets = (shape.spec.unique ?? []).map((fields) => [fields.join('+'), fields] as const);
  const collection = { ...shape, documents: db.collection<StoredDocument>(name), unique: new Map(sets) };
  await installValidator(db, shape, log);
  await collection.documents.createIndexes(buildIndexes(collection));
  return collection;
}

/** Indexes start with the tenant, except cross-tenant ones, and end with the id as tie-breaker. */
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

/** Installs the `$jsonSchema` validator if the server supports it and the user may do so. */
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
    const hint = 'grant the role dbAdmin on the database to update it; the service validates writes meanwhile';
    log?.warn({ collection: name, errorKind: 'config', hint }, 'the validator of a collection in the database is outdated');
  }
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof MongoServerError && error.code === code;
}
