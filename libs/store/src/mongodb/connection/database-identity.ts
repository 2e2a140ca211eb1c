import type { Db, UUID } from 'mongodb';
import { mintId } from '@switchyard/security';
import { isDuplicateKey } from './errors.ts';

/** No collection of a service has a name like this. */
const COLLECTION = '_identity';

interface Identity {
  _id: 'database';
  id: string;
}

/**
 * The id that was minted when the database was made, and what the server calls the collection it stands in. A copy that was restored
 * elsewhere has the same id in another collection, so it counts as another database.
 */
export async function readDatabaseIdentity(db: Db): Promise<string> {
  const collection = db.collection<Identity>(COLLECTION);
  await collection.updateOne({ _id: 'database' }, { $setOnInsert: { id: mintId('db') } }, { upsert: true }).catch((error: unknown) => {
    // Of several that make it at once, a server may refuse all but one.
    if (!isDuplicateKey(error)) throw error;
  });
  const found = await collection.findOne({ _id: 'database' });
  const [known] = await db.listCollections({ name: COLLECTION }, { nameOnly: false }).toArray();
  const uuid = (known as { info?: { uuid?: UUID } } | undefined)?.info?.uuid; // not every server that speaks the protocol has one
  return uuid === undefined ? (found?.id ?? '') : `${found?.id ?? ''}.${uuid.toString('hex')}`;
}
