import type { Db, UUID } from 'mongodb';
import { mintId } from '@switchyard/security';
import { isDuplicateKey } from './errors.ts';

/** Names of service collections do not start with an underscore. */
const COLLECTION = '_identity';

interface Identity {
  _id: 'database';
  id: string;
}

/**
 * Combines an id that is stored in the database with the UUID of its collection. A restored copy has another UUID and so another
 * identity.
 */
export async function readDatabaseIdentity(db: Db): Promise<string> {
  const collection = db.collection<Identity>(COLLECTION);
  await collection.updateOne({ _id: 'database' }, { $setOnInsert: { id: mintId('db') } }, { upsert: true }).catch((error: unknown) => {
    // Concurrent upserts may fail for all clients but one.
    if (!isDuplicateKey(error)) throw error;
  });
  const found = await collection.findOne({ _id: 'database' });
  const [known] = await db.listCollections({ name: COLLECTION }, { nameOnly: false }).toArray();
  const uuid = (known as { info?: { uuid?: UUID } } | undefined)?.info?.uuid; // missing on some compatible servers
  return uuid === undefined ? (found?.id ?? '') : `${found?.id ?? ''}.${uuid.toString('hex')}`;
}
