import { ServiceError } from '@switchyard/contracts';
import type { Collection as MongoCollection } from 'mongodb';
import type { AnyCollectionSpec, Document } from '../port/collection.ts';
import { misuseError } from '../port/store-misuse.ts';
import { observeStore } from '../outbox/store-metrics.ts';
import { createOutboxPublisher } from '../outbox/outbox-publisher.ts';
import { readCollectionSpec, type CollectionShape } from '../port/collection-shape.ts';
import type { Collection, Documents, Store, StoreOptions } from '../port/store.ts';
import { buildDatabaseName, parseStoreUrl, type StoreUrl } from './connection/store-url.ts';
import { waitAtMost } from './connection/wait-at-most.ts';
import { startServerClock } from './connection/server-clock.ts';
import { connect } from './connection/connect.ts';
import { createDocuments } from './documents.ts';
import { translateError } from './connection/errors.ts';
import { readDatabaseIdentity } from './connection/database-identity.ts';
import type { StoredDocument, StoredCollection } from './stored-document.ts';
import { createMongoOutbox } from './outbox-storage.ts';
import { prepareCollection } from './prepare-collection.ts';
import { trackReachability } from './connection/server-reachability.ts';
import { removeExpired } from './remove-documents.ts';
import { createOperations } from './connection/operations.ts';
import type { Session } from './session.ts';

const SERVICE_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const SWEEP_MS = 60_000;
const OPERATIONS_GRACE_MS = 4_000;
const PUBLISH_GRACE_MS = 5_000;
/** Names of service collections do not start with an underscore. */
const REJECTED_EVENTS = '_rejected_events';

/** Opens the database of a service, `<path of the URL>_<service>`. All replicas of the service share it. */
export async function openMongoStore(url: string, { service, log, strict = false }: StoreOptions): Promise<Store> {
  if (!SERVICE_NAME.test(service)) throw new ServiceError('INTERNAL', 'a store is opened for a service by its name');
  const address = parseStoreUrl(url);
  const name = buildDatabaseName(address, service);
  const { client, db, identity, clock, reachable } = await openDatabase(address, name, service);
  const opened = new Map<string, StoredCollection>();
  const operations = createOperations();
  const collections = (): MongoCollection<StoredDocument>[] => [...opened.values()].map(({ documents }) => documents);
  const outbox = createMongoOutbox({ now: () => clock.now(), collections, rejected: db.collection(REJECTED_EVENTS) });
  const publisher = createOutboxPublisher(outbox, log);
  const unobserve = observeStore(service, { queue: operations, publisher });
  const session: Session = {
    ...operations,
    strict,
    outbox: { ...outbox, registerWrite: (...args) => (outbox.registerWrite(...args), publisher.wake()) },
  };

  const onSweepError = (error: unknown): void =>
    log?.warn({ err: error, errorKind: 'resource', hint: 'retried in a minute' }, 'failed to remove expired documents');
  const sweep = (): void => {
    for (const collection of opened.values())
      operations.run(collection.spec.name, () => removeExpired(collection, clock.now())).catch(onSweepError);
  };
  const sweeper = setInterval(sweep, SWEEP_MS).unref();

  const prepare = (shape: CollectionShape): Promise<StoredCollection> =>
    prepareCollection(db, shape, log).catch((error: unknown) => Promise.reject(translateError(shape.spec.name, error)));

  async function open(specs: Record<string, AnyCollectionSpec>): Promise<Record<string, Collection<Document>>> {
    const shapes = Object.entries(specs).map(([name, spec]) => [name, readCollectionSpec(spec)] as const);
    const prepared = await Promise.all(shapes.map(async ([name, shape]) => [name, await prepare(shape)] as const));
    for (const [, collection] of prepared) opened.set(collection.spec.name, collection);
    sweep();
    return Object.fromEntries(prepared.map(([name, collection]) => [name, createCollection(session, collection)]));
  }

  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    clearInterval(sweeper);
    clock.stop();
    await waitAtMost(OPERATIONS_GRACE_MS, operations.close());
    await publisher.close(PUBLISH_GRACE_MS);
    await client.close();
    unobserve();
  }

  return {
    identity,
    connected: reachable,
    open: open as Store['open'],
    now: () => clock.now(),
    publishTo: async (publish) => publisher.publishTo(publish),
    close: () => (closed ??= close()),
  };
}

/** Closes the client if a later step fails. */
async function openDatabase(address: StoreUrl, name: string, service: string) {
  const client = await connect(address, `switchyard-${service}`);
  const reachable = trackReachability(client);
  try {
    const db = client.db(name);
    return { client, db, reachable, identity: await readDatabaseIdentity(db), clock: await startServerClock(db) };
  } catch (error) {
    await client.close();
    throw translateError(name, error);
  }
}

function createCollection(session: Session, collection: StoredCollection): Collection<Document> {
  return {
    key: collection.spec.key,
    for({ tenant }) {
      if (typeof tenant !== 'string' || tenant === '' || tenant.includes('\0'))
        throw misuseError(collection.spec.name, 'a principal without a tenant has no documents');
      return createDocuments(session, collection, tenant);
    },
    system: () => createDocuments(session, collection, null) as Documents<Document & { tenant: string }>,
  };
}
