import { setTimeout as sleep } from 'node:timers/promises';
import { openStore as open, type Collection, type Document, type Documents, type Store } from '@switchyard/store';
import { witnessed } from './notes.ts';
import { readSabotage } from './sabotage.ts';
import { getPlace, getTold, type Write } from './writes.ts';

export * from '@switchyard/store';

const sabotage = readSabotage();
/** Delay of a commit that is acknowledged before it is written. */
const LATE_MS = 3_000;

type Any = Documents<Document>;

/** Like the real function, but records writes. Omits the guard that a test removes. */
export const openStore: typeof open = async (...inputs) => {
  const store = await open(...inputs);
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'open') return opening(target);
      if (name === 'publishTo') return publishing(target);
      return bound(target, name);
    },
  });
};

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? value.bind(target) : value;
}

function opening(store: Store): Store['open'] {
  const openAll = async (specs: Parameters<Store['open']>[0]): Promise<Record<string, Collection<Document>>> => {
    const opened = (await store.open(specs)) as Record<string, Collection<Document>>;
    return Object.fromEntries(Object.entries(opened).map(([name, collection]) => [name, watched(name, collection)]));
  };
  return openAll as Store['open'];
}

function publishing(store: Store): Store['publishTo'] {
  return (publish) =>
    store.publishTo((event) =>
      witnessed(
        'publish',
        () => publish(event),
        () => ({ what: 'publish', id: event.id }),
      ),
    );
}

function watched(name: string, collection: Collection<Document>): Collection<Document> {
  if (name !== 'sessions' && name !== 'turns') return collection;
  return {
    key: collection.key,
    for: (principal) => watchedDocuments(name, collection.for(principal)),
    system: () => {
      const all = watchedDocuments(name, collection.system() as unknown as Any);
      return (sabotage === 'sweeper' ? { ...all, find: async () => ({ items: [] }) } : all) as ReturnType<Collection<Document>['system']>;
    },
  };
}

function watchedDocuments(collection: 'sessions' | 'turns', documents: Any): Any {
  const write = async (given: Write, work: () => Promise<Document | null>): Promise<Document | null> =>
    witnessed(getPlace(given), work, (done) => (done ? getTold(given, done) : undefined));
  return {
    get: (key) => documents.get(key),
    find: (filter, options) =>
      sabotage === 'dedupe' && 'idempotencyKey' in filter ? Promise.resolve({ items: [] }) : documents.find(filter, options),
    count: (filter) => documents.count(filter),
    remove: (filter) => documents.remove(filter),
    replace: (document, options) => documents.replace(document, options),
    insert: async (document, options) => {
      const { idempotencyKey: _key, keyUntil: _until, ...unkeyed } = document;
      const inserted = sabotage === 'dedupe' ? unkeyed : document;
      return (await write({ collection, change: 'insert' }, () => documents.insert(inserted, options))) as Document;
    },
    update: (filter, change) => {
      const given: Write = { collection, change, filter };
      const { fence: _fence, ...unfenced } = filter;
      const request = sabotage === 'fencing' ? unfenced : filter;
      if (sabotage === 'order' && getPlace(given) === 'commit') return late(documents, request, change);
      return write(given, () => documents.update(request, change));
    },
    claim: (filter, change, options) => write({ collection, change, filter }, () => documents.claim(filter, change, options)),
  };
}

/** Acknowledges a write and performs it later. */
async function late(documents: Any, ...[filter, change]: Parameters<Any['update']>): Promise<Document | null> {
  const there = (await documents.find(filter, { limit: 1 })).items[0];
  void sleep(LATE_MS).then(() => documents.update(filter, change).catch(() => undefined));
  return there ? { ...there, ...change.set } : null;
}
