import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { formatHeaders } from '../wire/headers.ts';
import { createOutbound } from './nats-outbound.ts';

/** A client connection that records the commands it is asked to send. */
function recordingConnection() {
  const writes: string[] = [];
  const flushes: number[] = [];
  return {
    writes,
    /** The number of writes before each flush. */
    flushes,
    flush: async () => void flushes.push(writes.length),
    protocol: {
      connected: true,
      sendCommand: (...parts: (string | Uint8Array)[]) =>
        void writes.push(parts.map((part) => Buffer.from(part).toString('latin1')).join('')),
    },
  };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('writes the messages of one event-loop turn at once', async () => {
  const to = recordingConnection();
  const outbound = createOutbound(to, 1_000_000);
  outbound.publish({ subject: 'a', data: Buffer.from('one') });
  outbound.publish({ subject: 'b', data: Buffer.from('héé'), reply: 'r' });
  outbound.publish({
    subject: 'c',
    data: Buffer.from(''),
    reply: 'r',
    headers: formatHeaders(['Sy-Seq', '1'], ['Sy-Frame', 'chunk']),
  });
  assert.equal(to.writes.length, 0);
  await nextTurn();

  const block = 'NATS/1.0\r\nSy-Seq: 1\r\nSy-Frame: chunk\r\n\r\n';
  assert.deepEqual(
    to.writes.map((write) => Buffer.from(write, 'latin1').toString()),
    [`PUB a 3\r\none\r\nPUB b r 5\r\nhéé\r\nHPUB c r ${block.length} ${block.length}\r\n${block}\r\n`],
  );
  await nextTurn();
  assert.equal(to.writes.length, 1);
});

test('flushes every 64 messages within a turn, in order', async () => {
  const to = recordingConnection();
  const outbound = createOutbound(to, 1_000_000);
  const lines = Array.from({ length: 150 }, (_, at) => `PUB s${at} 1\r\nx\r\n`);
  for (const at of lines.keys()) outbound.publish({ subject: `s${at}`, data: Buffer.from('x') });
  assert.deepEqual(to.writes, [lines.slice(0, 64).join(''), lines.slice(64, 128).join('')]);
  assert.deepEqual(to.flushes, [1, 2]);
  await nextTurn();
  assert.deepEqual(to.writes[2], lines.slice(128).join(''));
  await nextTurn();
  assert.deepEqual([to.writes.length, to.flushes.length], [3, 2]);
});

test('keeps the order of large and small payloads', async () => {
  const to = recordingConnection();
  const outbound = createOutbound(to, 1_000_000);
  const large = 'x'.repeat(100_000);
  for (const data of ['1', '2', large, large, '3']) outbound.publish({ subject: 's', data: Buffer.from(data) });
  await nextTurn();
  assert.equal(to.writes.join(''), ['1', '2', large, large, '3'].map((data) => `PUB s ${data.length}\r\n${data}\r\n`).join(''));
});

test('buffers messages that were queued just before a disconnect', async () => {
  const to = recordingConnection();
  const outbound = createOutbound(to, 1_000_000);
  outbound.publish({ subject: 'request', data: Buffer.from(''), expires: performance.now() + 5 });
  outbound.publish({ subject: 'event', data: Buffer.from('') });
  to.protocol.connected = false;
  await nextTurn(); // the flush of this turn finds no connection
  await new Promise((resolve) => setTimeout(resolve, 10));
  to.protocol.connected = true;
  outbound.flush();
  assert.deepEqual(to.writes, ['PUB event 0\r\n\r\n']);
});

test('drops rejected requests and buffers again in the next outage', () => {
  const to = recordingConnection();
  const outbound = createOutbound(to, 1_000_000);
  to.protocol.connected = false;
  outbound.publish({ subject: 'request', data: Buffer.from(''), expires: performance.now() + 60_000 });
  outbound.rejectMessages();
  assert.equal(outbound.publish({ subject: 'event', data: Buffer.from('') }), false);
  to.protocol.connected = true;
  outbound.flush();
  assert.deepEqual(to.writes, []);
  to.protocol.connected = false;
  const later = Date.now() + 3_600_000;
  mock.method(Date, 'now', () => later);
  assert.equal(outbound.publish({ subject: 'next', data: Buffer.from('') }), true);
  mock.restoreAll();
});

test('bufferedBytes counts buffered messages only', async () => {
  const to = recordingConnection();
  const outbound = createOutbound(to, 1_000_000);
  outbound.publish({ subject: 'a', data: Buffer.from('at once') });
  assert.equal(outbound.bufferedBytes(), 0);
  await nextTurn();
  to.protocol.connected = false;
  outbound.publish({ subject: 'request', data: Buffer.from('12345'), expires: performance.now() + 60_000 });
  outbound.publish({ subject: 'event', data: Buffer.from('123') });
  assert.equal(outbound.bufferedBytes(), 8);
  outbound.rejectMessages();
  assert.equal(outbound.bufferedBytes(), 3);
  to.protocol.connected = true;
  outbound.flush();
  assert.equal(outbound.bufferedBytes(), 0);
});

test('drops expired messages after a reconnect', async () => {
  const to = recordingConnection();
  const outbound = createOutbound(to, 1_000_000);
  to.protocol.connected = false;
  assert.equal(outbound.publish({ subject: 'stale', data: Buffer.from(''), expires: performance.now() - 1 }), true);
  assert.equal(outbound.publish({ subject: 'wanted', data: Buffer.from(''), expires: performance.now() + 60_000 }), true);
  outbound.flush();
  assert.equal(to.writes.length, 0);
  to.protocol.connected = true;
  outbound.flush();
  assert.deepEqual(to.writes, ['PUB wanted 0\r\n\r\n']);
});
