import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, fresh } from './message-collector.contract.ts';
import type { Bucket, BucketEntry, Transport } from '../wire/transport.ts';

const MiB = 1_048_576;
/** Sizes in bytes; the last one is the largest that the services store. */
const SIZES = [0, 1, 65_535, 65_536, 65_537, 200_000, MiB];

/** A value that proves its integrity: it repeats one letter, and the letter determines its length. */
function getValue(n: number): Uint8Array {
  const letter = n % 26;
  return new Uint8Array(Buffer.alloc(30_000 + letter * 20_000, 97 + letter));
}

function assertWhole(value: Uint8Array | undefined): void {
  assert.ok(value !== undefined, 'the value exists');
  const [letter = 0] = value;
  assert.deepEqual([letter, value.length], [letter, 30_000 + (letter - 97) * 20_000]);
  assert.ok(
    value.every((one) => one === letter),
    'the value contains one letter only',
  );
}

/** Records the entries of a watch. */
async function follow(bucket: Bucket) {
  const entries: BucketEntry[] = [];
  let wake = (): void => undefined;
  const watch = await bucket.watch((entry) => {
    entries.push(entry);
    wake();
  });
  return {
    entries,
    watch,
    async until(revision: number): Promise<void> {
      while ((entries.at(-1)?.revision ?? 0) < revision) await new Promise<void>((resolve) => (wake = resolve));
    },
  };
}

/** Values of up to 1 MiB in a bucket. */
export function largeValuesContract(connect: () => Promise<Transport>): void {
  async function open(name: string): Promise<Bucket> {
    return (await connect()).kv({ name });
  }

  test('writes, reads, watches and removes a value of up to 1 MiB', async () => {
    const name = fresh('sizes');
    const [mine, theirs] = [await open(name), await open(name)];
    const following = await follow(theirs);
    for (const size of SIZES) {
      const value = new Uint8Array(Buffer.alloc(size, 'switchyard'));
      const written = await mine.put('a.b', value);
      assert.deepEqual(await theirs.get('a.b'), { key: 'a.b', value, revision: written });
      assert.deepEqual(await theirs.keys(), ['a.b']);
      await following.until(written);
      assert.deepEqual(following.entries.splice(0), [{ key: 'a.b', value, revision: written }]);
      const later = await follow(theirs);
      assert.deepEqual(later.entries, [{ key: 'a.b', value, revision: written }]);
      later.watch.stop();

      const removed = await theirs.remove('a.b');
      assert.ok(removed > written);
      assert.deepEqual([await mine.get('a.b'), await mine.keys()], [undefined, []]);
      await following.until(removed);
      assert.deepEqual(following.entries.splice(0), [{ key: 'a.b', value: undefined, revision: removed }]);
      const again = await mine.update('a.b', value, 0);
      assert.ok(again !== undefined && again > removed);
      await following.until(again);
      following.entries.length = 0;
    }
    following.watch.stop();
  });

  test('update replaces values of any size and rejects another revision', async () => {
    const bucket = await open(fresh('over'));
    let revision = 0;
    for (const size of [MiB, 10, 100_000, 200_000, 45_001, 0, MiB, 1]) {
      const value = new Uint8Array(Buffer.alloc(size, String(size)));
      const next = await bucket.update('k', value, revision);
      assert.ok(next !== undefined && next > revision);
      assert.equal(await bucket.update('k', getValue(3), revision), undefined);
      assert.equal(await bucket.update('k', bytes('small'), 0), undefined);
      assert.deepEqual(await bucket.get('k'), { key: 'k', value, revision: next });
      revision = next;
    }
  });

  test('put stores the value as it was at the time of the call', async () => {
    const bucket = await open(fresh('given'));
    const value = getValue(9);
    const writing = bucket.put('k', value);
    value.fill(0);
    await writing;
    assertWhole((await bucket.get('k'))?.value);
  });

  test('exactly one of several concurrent creations of a key succeeds', async () => {
    const name = fresh('large-race');
    const buckets = [await open(name), await open(name)];
    const tries = Array.from({ length: 12 }, (_, n) => (buckets[n % 2] as Bucket).update('k', getValue(n), 0));
    const won = (await Promise.all(tries)).flatMap((revision, n) => (revision === undefined ? [] : [{ revision, n }]));
    assert.equal(won.length, 1);
    const [{ revision, n } = { revision: 0, n: 0 }] = won;
    assert.deepEqual(await buckets[0]?.get('k'), { key: 'k', value: getValue(n), revision });
  });

  test('readers and watchers get complete values in order while others write', async () => {
    const name = fresh('storm');
    const [one, other, reader] = [await open(name), await open(name), await open(name)];
    await one.put('k', getValue(0));
    await one.put('beside', bytes('still'));
    const following = await follow(reader);
    let writing = true;
    const reads = (async () => {
      for (let count = 1; ; count++) {
        assertWhole((await reader.get('k'))?.value);
        if (!writing) return count;
      }
    })();
    const joining = (async () => {
      while (writing) {
        const late = await follow(reader);
        assert.ok(late.entries.some(({ key }) => key === 'k') && late.entries.some(({ key }) => key === 'beside'));
        for (const { key, value } of late.entries) if (key === 'k') assertWhole(value);
        late.watch.stop();
      }
    })();
    const write = async (bucket: Bucket, from: number): Promise<number[]> => {
      const revisions: number[] = [];
      for (let n = from; n < from + 26; n++) revisions.push(await bucket.put('k', getValue(n * 7)));
      return revisions;
    };
    const revisions = (await Promise.all([write(one, 1), write(other, 13)])).flat();
    writing = false;
    assert.ok((await reads) > 3);
    await joining;
    const last = Math.max(...revisions);
    assert.equal((await reader.get('k'))?.revision, last);
    await following.until(last);
    for (const { key, value } of following.entries) if (key === 'k') assertWhole(value);
    const entries = following.entries.map(({ revision }) => revision);
    assert.deepEqual(
      entries,
      entries.toSorted((before, after) => before - after),
    );
    assert.deepEqual((await reader.keys()).toSorted(), ['beside', 'k']);
    following.watch.stop();
  });

  test('a large value expires after its TTL', async () => {
    const bucket = await (await connect()).kv({ name: fresh('large-ttl'), ttlMs: 1_000 });
    const following = await follow(bucket);
    const written = await bucket.put('k', getValue(20));
    await following.until(written + 1);
    assert.deepEqual(
      following.entries.map(({ key, value }) => [key, value?.length]),
      [
        ['k', 430_000],
        ['k', undefined],
      ],
    );
    assert.deepEqual([await bucket.get('k'), await bucket.keys()], [undefined, []]);
    assert.ok(await bucket.update('k', getValue(2), 0));
    following.watch.stop();
  });
}
