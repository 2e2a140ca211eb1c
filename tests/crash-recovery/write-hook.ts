import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { openStore as open, type Collection, type Document, type Store } from '@switchyard/store';
import { isAtPlace, type ObservedWrite } from './write-places.ts';

export * from '@switchyard/store';

/**
 * A file that says where the process dies: the number of a point, of which each write has one before it and one after it, or the name of a
 * place and the moment, for example `park after`.
 */
const order = process.env['DIE_AT_POINT'] ?? '';
const WRITES = new Set(['insert', 'replace', 'update', 'claim', 'remove']);

let reached = 0;

/** Like the real function, with writes of the sessions service that can end the process. */
export const openStore: typeof open = async (url, options) => {
  const store = await open(url, options);
  return options.service === 'sessions' ? replaceMethod(store, 'open', () => openDying(store)) : store;
};

function openDying(store: Store): Store['open'] {
  return (async (specs: Parameters<Store['open']>[0]) => {
    const opened = (await store.open(specs)) as Record<string, Collection<Document>>;
    return Object.fromEntries(Object.entries(opened).map(([name, collection]) => [name, getDying(name, collection)]));
  }) as Store['open'];
}

function getDying(name: string, collection: Collection<Document>): Collection<Document> {
  return {
    key: collection.key,
    for: (principal) => withPoints(name, collection.for(principal)),
    system: () => withPoints(name, collection.system()),
  };
}

function withPoints<T extends object>(collection: string, documents: T): T {
  return new Proxy(documents, {
    get(target, name) {
      const operation = Reflect.get(target, name) as (...inputs: unknown[]) => Promise<unknown>;
      if (!WRITES.has(String(name))) return operation;
      return async (...inputs: unknown[]) => {
        const write = { collection, operation: String(name), inputs };
        reach(write, 'before');
        const result = await operation.apply(target, inputs);
        reach(write, 'after');
        return result;
      };
    },
  });
}

function replaceMethod<T extends object>(whole: T, method: keyof T, get: () => unknown): T {
  return new Proxy(whole, {
    get(target, name) {
      if (name === method) return get();
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function reach(write: ObservedWrite, moment: 'before' | 'after'): void {
  if (!existsSync(order)) return;
  const point = readFileSync(order, 'utf8');
  if (Number.isNaN(Number(point))) {
    if (!isAtPlace(point, write, moment)) return;
  } else {
    reached += 1;
    if (reached < Number(point)) return;
  }
  unlinkSync(order);
  process.kill(process.pid, 'SIGKILL');
}
