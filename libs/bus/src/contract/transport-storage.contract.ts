import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, fresh, text } from './message-collector.contract.ts';
import { formatHeaders } from '../wire/headers.ts';
import type { BucketEntry, Transport } from '../wire/transport.ts';

/** Logs and buckets of a transport. */
export function keepingContract(connect: () => Promise<Transport>): void {
  test('a log stores messages in order and once per id', async () => {
    const a = await connect();
    const subject = fresh('log');
    const log = await a.log({ name: subject, subjects: [`${subject}.*`], maxAgeMs: 60_000, storage: 'memory' });

    const first = await log.append({ subject: `${subject}.a`, data: bytes('1'), headers: formatHeaders(['Sy-Seq', '0']) }, 'id-1');
    const again = await log.append({ subject: `${subject}.a`, data: bytes('1') }, 'id-1');
    a.publish({ subject: `${subject}.a`, data: bytes('2') });
    await a.flush();
    await log.append({ subject: `${subject}.b`, data: bytes('3') });
    await log.append({ subject: `${subject}.a`, data: bytes('4') }, 'id-2');

    assert.deepEqual([first.duplicate, again.duplicate, again.seq], [false, true, first.seq]);
    const read = await log.read(`${subject}.a`);
    assert.deepEqual(
      read.map(({ data }) => text(data)),
      ['1', '2', '4'],
    );
    assert.deepEqual(
      read.map(({ header }) => header('Sy-Seq')),
      ['0', undefined, undefined],
    );
    assert.ok(read.every(({ subject: of }) => of === `${subject}.a`));
    assert.deepEqual(
      (await log.read(`${subject}.*`)).map(({ data }) => text(data)),
      ['1', '2', '3', '4'],
    );
    assert.deepEqual(
      (await log.read(`${subject}.*`, read[1]?.seq)).map(({ data }) => text(data)),
      ['2', '3', '4'],
    );
    assert.deepEqual(await log.read(`${subject}.none`), []);
  });

  test('read returns all entries of a long log', async () => {
    const a = await connect();
    const subject = fresh('long');
    const log = await a.log({ name: subject, subjects: [subject], maxAgeMs: 60_000, storage: 'memory' });
    for (let n = 0; n < 1_234; n++) a.publish({ subject, data: bytes(String(n)) });
    await log.append({ subject, data: bytes('last') });

    const read = await log.read(subject);
    assert.equal(read.length, 1_235);
    assert.deepEqual([text(read[1_000]?.data), text(read.at(-1)?.data)], ['1000', 'last']);
  });

  test('page limits the entries, and position returns the newest sequence number', async () => {
    const a = await connect();
    const subject = fresh('pages');
    const log = await a.log({ name: subject, subjects: [`${subject}.*`], maxAgeMs: 60_000, storage: 'memory' });
    const before = await log.position();
    const since = Date.now();
    assert.match(before.name, /^[0-9a-z]+$/);
    assert.deepEqual([before.firstSeq, before.seq], [1, 0]);
    for (let n = 1; n <= 7; n++) await log.append({ subject: `${subject}.${n % 2 ? 'odd' : 'even'}`, data: bytes(String(n)) });
    assert.deepEqual(await log.position(), { name: before.name, firstSeq: 1, seq: 7 });

    const page = async (of: string, from: number) =>
      (await log.page(`${subject}.${of}`, from, 3)).map(({ seq, data }) => `${seq} ${text(data)}`);
    assert.deepEqual(await page('*', 0), ['1 1', '2 2', '3 3']);
    assert.deepEqual(await page('*', 4), ['4 4', '5 5', '6 6']);
    assert.deepEqual(await page('*', 7), ['7 7']);
    assert.deepEqual(await page('*', 8), []);
    assert.deepEqual(await page('odd', 2), ['3 3', '5 5', '7 7']);
    for (const { at } of await log.page(`${subject}.*`, 0, 7)) assert.ok(at >= since && at <= Date.now(), String(at));
  });

  test('a log keeps the newest maxPerSubject messages of each subject', async () => {
    const a = await connect();
    const subject = fresh('most');
    const log = await a.log({ name: subject, subjects: [`${subject}.*`], maxAgeMs: 60_000, maxPerSubject: 3, storage: 'memory' });
    await log.append({ subject: `${subject}.quiet`, data: bytes('one') });
    for (let n = 0; n < 5_000; n++) a.publish({ subject: `${subject}.loud`, data: bytes(String(n)) });
    await log.append({ subject: `${subject}.quiet`, data: bytes('two') });

    const readText = async (of: string) => (await log.read(`${subject}.${of}`)).map(({ data }) => text(data));
    assert.deepEqual(await readText('loud'), ['4997', '4998', '4999']);
    assert.deepEqual(await readText('quiet'), ['one', 'two']);
    assert.deepEqual(await readText('*'), ['one', '4997', '4998', '4999', 'two']);
  });

  test('a log in several streams rejects reads from a sequence number', async () => {
    const a = await connect();
    const subject = fresh('parts');
    const parts = [`${subject}.0.*`, `${subject}.1.*`];
    const log = await a.log({ name: subject, subjects: [`${subject}.*.*`], parts, maxAgeMs: 60_000, storage: 'memory' });
    for (const end of ['0.a', '1.b', '0.a']) await log.append({ subject: `${subject}.${end}`, data: bytes(end) });

    assert.deepEqual(
      (await log.read(`${subject}.0.a`)).map(({ data }) => text(data)),
      ['0.a', '0.a'],
    );
    assert.equal((await log.read(`${subject}.*.*`)).length, 3);
    await assert.rejects(log.read(`${subject}.0.a`, 2), /cannot be read from a sequence number/);
  });

  test('an ephemeral message is delivered in order and not stored', async () => {
    const a = await connect();
    const subject = fresh('passing');
    const log = await a.log({ name: subject, subjects: [subject], maxAgeMs: 60_000, storage: 'memory' });
    const receivedMessages: (string | undefined)[] = [];
    a.subscribe(subject, ({ data }) => void receivedMessages.push(text(data)));
    for (const said of ['kept', 'passing', 'kept too'])
      a.publish(said === 'passing' ? { subject, data: bytes(said), ephemeral: true } : { subject, data: bytes(said) });
    a.publish({ subject, data: bytes('with headers'), headers: formatHeaders(['Sy-Seq', '3']), ephemeral: true });
    await a.flush();
    const last = await log.append({ subject, data: bytes('last') });
    await a.flush();

    assert.deepEqual(receivedMessages, ['kept', 'passing', 'kept too', 'with headers', 'last']);
    assert.deepEqual(
      (await log.read(subject)).map(({ data }) => text(data)),
      ['kept', 'kept too', 'last'],
    );
    assert.equal(last.seq, 3);
    assert.ok(log.maxBytes > 0);
  });

  test('a log removes entries after maxAgeMs', async () => {
    const a = await connect();
    const subject = fresh('age');
    const log = await a.log({ name: subject, subjects: [subject], maxAgeMs: 200, storage: 'memory' });
    await log.append({ subject, data: bytes('old') });
    while ((await log.read(subject)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const { seq } = await log.append({ subject, data: bytes('new') });
    assert.deepEqual(
      (await log.read(subject)).map((entry) => [entry.seq, text(entry.data)]),
      [[seq, 'new']],
    );
    assert.equal(seq, 2);
  });

  test('update succeeds only for the current revision', async () => {
    const bucket = await (await connect()).kv({ name: fresh('cas') });
    const first = await bucket.update('k', bytes('1'), 0);
    assert.ok(first !== undefined && first > 0);
    assert.equal(await bucket.update('k', bytes('x'), 0), undefined);
    const second = await bucket.update('k', bytes('2'), first);
    assert.ok(second !== undefined && second > first);
    assert.equal(await bucket.update('k', bytes('x'), first), undefined);
    const third = await bucket.put('k', bytes('3'));
    assert.ok(third > second);

    const entry = await bucket.get('k');
    assert.deepEqual([entry?.key, text(entry?.value), entry?.revision], ['k', '3', third]);
    assert.equal(await bucket.get('other'), undefined);
    await bucket.put('a=2eb.c', bytes('encoded'));
    assert.equal(text((await bucket.get('a=2eb.c'))?.value), 'encoded');
    await assert.rejects(bucket.put('not a key', bytes('')), TypeError);
    await assert.rejects(bucket.get('*'), TypeError);
  });

  test('exactly one of several concurrent updates of a missing key succeeds', async () => {
    const [a, b] = [await connect(), await connect()];
    const name = fresh('race');
    const [mine, theirs] = [await a.kv({ name }), await b.kv({ name })];
    const tries = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? mine : theirs).update('k', bytes(String(n)), 0));
    assert.equal((await Promise.all(tries)).filter((revision) => revision !== undefined).length, 1);
  });

  test('a removed key is missing and can be created again', async () => {
    const bucket = await (await connect()).kv({ name: fresh('remove') });
    const written = await bucket.put('a.b', bytes('1'));
    await bucket.put('c', bytes('2'));
    const removed = await bucket.remove('a.b');
    assert.ok(removed > written);
    assert.equal(await bucket.get('a.b'), undefined);
    assert.deepEqual(await bucket.keys(), ['c']);
    const created = await bucket.update('a.b', bytes('3'), 0);
    assert.ok(created !== undefined && created > removed);
    assert.deepEqual((await bucket.keys()).sort(), ['a.b', 'c']);
  });

  test('a watch delivers all entries and then every change', async () => {
    const [a, b] = [await connect(), await connect()];
    const name = fresh('watch');
    const [mine, theirs] = [await a.kv({ name }), await b.kv({ name })];
    await theirs.put('x', bytes('1'));
    await theirs.put('y', bytes('1'));
    await theirs.put('x', bytes('2'));

    let wake = (): void => undefined;
    const seen: (string | undefined)[][] = [];
    const revisions: number[] = [];
    const watch = await mine.watch(({ key, value, revision }: BucketEntry) => {
      seen.push([key, text(value)]);
      revisions.push(revision);
      wake();
    });
    const waitUntil = async (count: number): Promise<void> => {
      while (seen.length < count) await new Promise<void>((resolve) => (wake = resolve));
    };
    assert.deepEqual(seen, [
      ['y', '1'],
      ['x', '2'],
    ]);
    assert.equal(watch.lostSince(), undefined);

    // A watch may skip a value that was replaced before its delivery.
    await theirs.remove('y');
    await waitUntil(3);
    await theirs.put('z', bytes('3'));
    await waitUntil(4);
    await theirs.put('z', bytes('4'));
    await waitUntil(5);
    assert.deepEqual(seen.slice(2), [
      ['y', undefined],
      ['z', '3'],
      ['z', '4'],
    ]);
    assert.deepEqual(
      revisions,
      [...revisions].sort((one, other) => one - other),
    );
    watch.stop();
  });

  test('a watch below a key delivers only the keys below it', async () => {
    const bucket = await (await connect()).kv({ name: fresh('below') });
    for (const key of ['a.one', 'ab.one', 'a', 'b.a.one']) await bucket.put(key, bytes(key));
    const seen: string[] = [];
    const last = Promise.withResolvers<void>();
    const onEntry = ({ key, value }: BucketEntry): void => {
      seen.push(`${key} ${text(value) ?? 'removed'}`);
      if (key === 'a.last') last.resolve();
    };
    const watch = await bucket.watch(onEntry, { below: 'a' });
    assert.deepEqual(seen, ['a.one a.one']);
    await bucket.put('b.two', bytes('2'));
    await bucket.remove('a.one');
    await bucket.put('a.last', bytes('3'));
    await last.promise;
    assert.deepEqual(seen.slice(1), ['a.one removed', 'a.last 3']);
    assert.equal(watch.lostSince(), undefined);
    watch.stop();
  });

  test('a watch of an empty bucket resolves immediately', async () => {
    const bucket = await (await connect()).kv({ name: fresh('empty') });
    const watch = await bucket.watch(() => assert.fail('there is nothing to tell'));
    assert.equal(watch.lostSince(), undefined);
    watch.stop();
  });

  test('an entry expires after its TTL, and watchers are notified', async () => {
    const bucket = await (await connect()).kv({ name: fresh('ttl'), ttlMs: 1_000 });
    const gone = Promise.withResolvers<BucketEntry>();
    const watch = await bucket.watch((entry) => {
      if (entry.value === undefined) gone.resolve(entry);
    });
    const revision = await bucket.put('k', bytes('1'));
    const entry = await gone.promise;
    assert.equal(entry.key, 'k');
    assert.ok(entry.revision > revision);
    assert.equal(await bucket.get('k'), undefined);
    watch.stop();
  });
}
