import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { openStore as open, type Collection, type Document, type Store } from '@switchyard/store';

export * from '@switchyard/store';

/** A file with the number of the point at which the process dies. Each write has a point before it and one after it. */
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
    return Object.fromEntries(Object.entries(opened).map(([name, collection]) => [name, getDying(collection)]));
  }) as Store['open'];
}

function getDying(collection: Collection<Document>): Collection<Document> {
  return {
    key: collection.key,
    for: (principal) => withPoints(collection.for(principal)),
    system: () => withPoints(collection.system()),
  };
}

function withPoints<T extends object>(documents: T): T {
  return new Proxy(documents, {
    get(target, name) {
      const operation = Reflect.get(target, name) as (...inputs: unknown[]) => Promise<unknown>;
      if (!WRITES.has(String(name))) return operation;
      return async (...inputs: unknown[]) => {
        reach();
        const result = await operation.apply(target, inputs);
        reach();
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

function reach(): void {
  if (!existsSync(order)) return;
  reached += 1;
  if (reached < Number(readFileSync(order, 'utf8'))) return;
  unlinkSync(order);
  process.kill(process.pid, 'SIGKILL');
}
