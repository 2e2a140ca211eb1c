import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { bytes, collector, fresh, text } from './message-collector.contract.ts';
import { measureHeaders, formatHeaders } from '../wire/headers.ts';
import { keepingContract } from './transport-storage.contract.ts';
import { largeValuesContract } from './transport-large-values.contract.ts';
import type { Transport } from '../wire/transport.ts';

/** A network that connections join. */
export interface Network {
  connect(): Promise<Transport>;
  stop(): Promise<void>;
}

/** Contract of a transport. */
export function transportContract(name: string, open: () => Promise<Network>): void {
  describe(`transport over ${name}`, () => {
    let network: Network;
    const connections: Transport[] = [];
    const connect = async () => {
      const transport = await network.connect();
      connections.push(transport);
      return transport;
    };

    before(async () => {
      network = await open();
    });
    after(async () => {
      await Promise.all(connections.map((connection) => connection.drain()));
      await network.stop();
    });

    test('messages of one connection arrive in order and asynchronously', async () => {
      const [a, b] = [await connect(), await connect()];
      const subject = fresh('order');
      const got = collector();
      b.subscribe(subject, got.onMessage);
      await b.flush();

      for (let n = 0; n < 500; n++) assert.equal(a.publish({ subject, data: bytes(String(n)) }), true);
      assert.equal(got.messages.length, 0);

      await got.until(500);
      assert.deepEqual(
        got.texts(),
        Array.from({ length: 500 }, (_, n) => String(n)),
      );
    });

    test('* matches one token, > the rest, and an exact subject itself', async () => {
      const a = await connect();
      const root = fresh('pattern');
      const [star, rest, exact] = [collector(), collector(), collector()];
      a.subscribe(`${root}.*`, star.onMessage);
      a.subscribe(`${root}.>`, rest.onMessage);
      a.subscribe(`${root}.x`, exact.onMessage);
      await a.flush();

      for (const subject of [root, `${root}.x`, `${root}.y`, `${root}.x.y`]) a.publish({ subject, data: bytes(subject) });
      await rest.until(3);
      await a.flush();

      assert.deepEqual(
        star.messages.map((one) => one.subject),
        [`${root}.x`, `${root}.y`],
      );
      assert.deepEqual(
        rest.messages.map((one) => one.subject),
        [`${root}.x`, `${root}.y`, `${root}.x.y`],
      );
      assert.deepEqual(
        exact.messages.map((one) => one.subject),
        [`${root}.x`],
      );
    });

    test('headers arrive with their own message only', async () => {
      const a = await connect();
      const subject = fresh('headers');
      const got = collector();
      a.subscribe(subject, got.onMessage);
      await a.flush();

      a.publish({
        subject,
        data: bytes('1'),
        headers: formatHeaders(['Sy-Request', 'req_1'], ['traceparent', '00-a b:c']),
      });
      a.publish({ subject, data: bytes('2') });
      a.publish({ subject, data: bytes(''), headers: formatHeaders(['Sy-Seq', '7']) });
      await got.until(3);

      const read = got.messages.map((one) => ['Sy-Request', 'traceparent', 'Sy-Seq', 'Sy'].map((name) => one.header(name)));
      assert.deepEqual(read, [
        ['req_1', '00-a b:c', undefined, undefined],
        [undefined, undefined, undefined, undefined],
        [undefined, undefined, '7', undefined],
      ]);
      assert.deepEqual(got.texts(), ['1', '2', '']);
    });

    test('rejects invalid subjects', async () => {
      const a = await connect();
      for (const bad of ['a b', 'a\r\nPUB x 0', ''])
        assert.throws(() => a.publish({ subject: bad, data: bytes('') }), TypeError, JSON.stringify(bad));
    });

    test('a queue group distributes its messages, other subscribers get all', async () => {
      const [a, b, c] = [await connect(), await connect(), await connect()];
      const subject = fresh('queue');
      const [first, second, all] = [collector(), collector(), collector()];
      a.subscribe(subject, first.onMessage, 'workers');
      b.subscribe(subject, second.onMessage, 'workers');
      c.subscribe(subject, all.onMessage);
      await Promise.all([a.flush(), b.flush(), c.flush()]);

      for (let n = 0; n < 200; n++) c.publish({ subject, data: bytes(String(n)) });
      await all.until(200);
      await Promise.all([a.flush(), b.flush()]);

      assert.equal(first.messages.length + second.messages.length, 200);
      assert.ok(first.messages.length > 20 && second.messages.length > 20, `${first.messages.length} and ${second.messages.length}`);
    });

    test('a request without a subscriber gets an empty 503 immediately', async () => {
      const a = await connect();
      const reply = `${a.inbox}.x`;
      const got = collector();
      a.subscribe(reply, got.onMessage);
      a.publish({ subject: fresh('nobody'), data: bytes('?'), reply });
      await got.until(1);

      const [answer] = got.messages;
      assert.deepEqual([answer?.status, answer?.data.length, answer?.subject], [503, 0, reply]);
    });

    test('unsubscribe stops delivery, and drain delivers received messages first', async () => {
      const a = await connect();
      const subject = fresh('leave');
      const [left, drained] = [collector(), collector()];
      const leaving = a.subscribe(subject, left.onMessage);
      const draining = a.subscribe(subject, drained.onMessage);
      await a.flush();

      for (let n = 0; n < 10; n++) a.publish({ subject, data: bytes('x') });
      leaving.unsubscribe();
      await a.flush();
      await draining.drain();
      a.publish({ subject, data: bytes('late') });
      await a.flush();

      assert.equal(left.messages.length, 0);
      assert.equal(drained.messages.length, 10);
    });

    test('accepts a message of maxPayload bytes and rejects a larger one', async () => {
      const a = await connect();
      const subject = fresh('large');
      const got = collector();
      a.subscribe(subject, got.onMessage);
      await a.flush();
      const headers = formatHeaders(['Sy-Request', 'req_1']);
      const largest = Buffer.alloc(a.maxPayload - measureHeaders(headers), 'x');

      a.publish({ subject, data: largest, headers });
      await got.until(1);
      assert.equal(got.messages[0]?.data.length, largest.length);
      assert.equal(got.messages[0]?.header('Sy-Request'), 'req_1');
      assert.equal(a.maxPayload, 8 * 1024 * 1024);

      assert.throws(() => a.publish({ subject, data: Buffer.alloc(largest.length + 1), headers }), { code: 'FAILED_PRECONDITION' });
    });

    test('endpoints answer until they are drained', async () => {
      const [a, b] = [await connect(), await connect()];
      const service = fresh('svc');
      const subject = `${service}.echo`;
      const got = collector();
      const serving = await a.serve({ name: service, version: '1.0.0', replica: fresh('r'), description: 'echoes' }, [
        { name: 'echo', subject, onMessage: ({ reply, data }) => a.publish({ subject: reply ?? '', data }) },
      ]);
      b.subscribe(`${b.inbox}.r`, got.onMessage);
      await Promise.all([a.flush(), b.flush()]);

      b.publish({ subject, data: bytes('hello'), reply: `${b.inbox}.r` });
      await got.until(1);
      await serving.drain();
      b.publish({ subject, data: bytes('anybody?'), reply: `${b.inbox}.r` });
      await got.until(2);

      assert.deepEqual(
        got.messages.map(({ data, status }) => [text(data), status]),
        [
          ['hello', undefined],
          ['', 503],
        ],
      );
    });

    keepingContract(connect);
    largeValuesContract(connect);

    test('a drained connection reports itself closed and rejects messages', async () => {
      const a = await network.connect();
      assert.equal(a.connected(), true);
      await a.drain();
      await a.closed;
      assert.equal(a.connected(), false);
      assert.equal(a.publish({ subject: 'x', data: bytes('') }), false);
      assert.throws(() => a.subscribe('x', () => undefined), { code: 'UNAVAILABLE' });
      await a.drain();
    });
  });
}
