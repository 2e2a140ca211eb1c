import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore, type Collection, type Document, type Documents, type Store } from '@switchyard/store';
import { tempDir } from '@switchyard/testkit';

/** A write with a guard, and documents that violate one condition of it each. */
export interface GuardedWrite<D extends Document> {
  name: string;
  /** A document that the write changes. */
  document: D;
  /** Returns null, or throws, if the guard rejects the write. */
  write: (documents: Documents<D>) => Promise<unknown>;
  /** Fields of a document that violate only the condition on this field. */
  violations: Record<string, Partial<D>>;
}

/**
 * Tests that a write changes its document, and that each condition of its guard alone rejects it. A condition without a violation fails the
 * test, so that no condition is added or removed unnoticed.
 */
export function testGuards<D extends Document>(
  open: (store: Store) => Promise<Collection<D>>,
  key: keyof D & string,
  writes: readonly GuardedWrite<D>[],
): void {
  for (const { name, document, write, violations } of writes)
    test(`each condition alone rejects the write: ${name}`, async () => {
      await using data = await tempDir();
      await using own = new AsyncDisposableStack();
      const store = await openStore(`sqlite:${join(data.path, 'store')}`, { service: 'sessions' });
      own.defer(() => store.close());
      const conditions = new Set<string>();
      const stored = (await open(store)).for({ tenant: 'default' });
      const recorded = record(stored, conditions);
      const id = String(document[key]);

      await stored.insert(document);
      const before = await stored.get(id);
      await write(recorded);
      assert.notDeepEqual(await stored.get(id), before, 'the write changes its document');
      conditions.delete(key);
      assert.deepEqual(Object.keys(violations).toSorted(), [...conditions].toSorted());

      for (const [field, fields] of Object.entries(violations)) {
        await stored.remove({ [key]: id } as never);
        await stored.insert({ ...document, ...fields });
        const violating = await stored.get(id);
        await write(recorded).catch(() => null);
        assert.deepEqual(await stored.get(id), violating, `without the condition on ${field} the write is applied`);
      }
    });
}

/** Collects the fields of all filters. */
function record<D extends Document>(documents: Documents<D>, conditions: Set<string>): Documents<D> {
  return new Proxy(documents, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]): unknown => {
        if (name === 'update' || name === 'claim') for (const field of Object.keys(args[0] as object)) conditions.add(field);
        return Reflect.apply(method, target, args);
      };
    },
  });
}
