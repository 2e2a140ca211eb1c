import { ServiceError } from '@switchyard/contracts';
import type { Collection as MongoCollection } from 'mongodb';
import type { AnyCollectionSpec, Document } from '../port/collection.ts';
import { misuse } from '../port/store-misuse.ts';
import { observeStore } from '../outbox/store-metrics.ts';
import { createPublisher } from '../outbox/outbox-publisher.ts';
import { shapeOf, type Shape } from '../port/collection-shape.ts';
import type { Collection, Documents, Store, StoreOptions } from '../port/store.ts';
import { databaseName, readAddress, type MongoAddress } from './connection/store-url.ts';
import { atMost } from './connection/wait-at-most.ts';
import { startClock } from './connection/server-clock.ts';
import { connect } from './connection/connect.ts';
import { createDocuments } from './documents.ts';
import { explain } from './connection/errors.ts';
import { identify } from './connection/database-identity.ts';
import type { Kept, KeptCollection } from './stored-document.ts';
import { createLedger } from './outbox-storage.ts';
import { prepareCollection } from './prepare-collection.ts';
import { followReachability } from './connection/server-reachability.ts';
import { removeExpired } from './remove-documents.ts';
import { createOperations } from './connection/operations.ts';
import type { Session } from './session.ts';

const SERVICE_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const SWEEP_MS = 60_000;
/** So long may what runs take to end, and then what is owed to be published. */
const FINISH_MS = 4_000;
const CLOSE_GRACE_MS = 5_000;
/** No collection of a service has a name like this. */
const REFUSED = '_refused';

/** One service's documents in a database of its own, `<path of the URL>_<service>`, which all its replicas share. */
export async function openMongoStore(url: string, { service, log, strict = false }: StoreOptions): Promise<Store> {
  if (!SERVICE_NAME.test(service)) throw new ServiceError('INTERNAL', 'a store is opened for a service by its name');
  const address = readAddress(url);
  const name = databaseName(address, service);
  const { client, db, identity, clock, reachable } = await openDatabase(address, name, service);
  const opened = new Map<string, KeptCollection>();
  const operations = createOperations();
  const collections = (): MongoCollection<Kept>[] => [...opened.values()].map(({ documents }) => documents);
  const ledger = createLedger({ now: () => clock.now(), collections, refused: db.collection(REFUSED) });
  const publisher = createPublisher(ledger, log);
  const unobserve = observeStore(service, { queue: operations, publisher });
  const session: Session = {
    ...operations,
    strict,
    ledger: { ...ledger, wrote: (...written) => (ledger.wrote(...written), publisher.wake()) },
  };

  const onSweepError = (error: unknown): void =>
    log?.warn({ err: error, errorKind: 'resource', hint: 'it is tried again in a minute' }, 'expired documents not removed');
  const sweep = (): void => {
    for (const kept of opened.values()) operations.run(kept.spec.name, () => removeExpired(kept, clock.now())).catch(onSweepError);
  };
  const sweeper = setInterval(sweep, SWEEP_MS).unref();

  const prepare = (shape: Shape): Promise<KeptCollection> =>
    prepareCollection(db, shape, log).catch((error: unknown) => Promise.reject(explain(shape.spec.name, error)));

  async function open(specs: Record<string, AnyCollectionSpec>): Promise<Record<string, Collection<Document>>> {
    const shapes = Object.entries(specs).map(([name, spec]) => [name, shapeOf(spec)] as const);
    const prepared = await Promise.all(shapes.map(async ([name, shape]) => [name, await prepare(shape)] as const));
    for (const [, kept] of prepared) opened.set(kept.spec.name, kept);
    sweep();
    return Object.fromEntries(prepared.map(([name, kept]) => [name, createCollection(session, kept)]));
  }

  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    clearInterval(sweeper);
    clock.stop();
    await atMost(FINISH_MS, operations.end());
    await publisher.close(CLOSE_GRACE_MS);
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

/** Nothing of it stays open when a part of it fails. */
async function openDatabase(address: MongoAddress, name: string, service: string) {
  const client = await connect(address, `switchyard-${service}`);
  const reachable = followReachability(client);
  try {
    const db = client.db(name);
    return { client, db, reachable, identity: await identify(db), clock: await startClock(db) };
  } catch (error) {
    await client.close();
    throw explain(name, error);
  }
}

function createCollection(session: Session, kept: KeptCollection): Collection<Document> {
  return {
    key: kept.spec.key,
    for({ tenant }) {
      if (typeof tenant !== 'string' || tenant === '' || tenant.includes('\0'))
        throw misuse(kept.spec.name, 'a principal without a tenant has no documents');
      return createDocuments(session, kept, tenant);
    },
    system: () => createDocuments(session, kept, null) as Documents<Document & { tenant: string }>,
  };
}
