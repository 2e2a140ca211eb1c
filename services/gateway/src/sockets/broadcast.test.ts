import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import * as ws from 'ws';
import { createBroadcast } from './broadcast.ts';
import type { Connection } from './connections.ts';
import { latin1Frame, textFrame } from './text-frame.ts';

/** The reader that clients have; the package's types leave it out. */
const { Receiver } = ws as unknown as {
  Receiver: new (options: object) => { on(event: 'message', listener: (data: Buffer) => void): void; write(bytes: Buffer): void };
};

/** Connections that only remember what was written to them. */
function audience(count: number): {
  all: Connection[];
  written: Map<Connection, Buffer[]>;
  write: (to: Connection, frames: Buffer) => void;
} {
  const written = new Map<Connection, Buffer[]>();
  const all = Array.from({ length: count }, () => {
    const connection = {} as Connection;
    written.set(connection, []);
    return connection;
  });
  return { all, written, write: (to, frames) => void written.get(to)?.push(frames) };
}

/** What a client understands. */
function read(frames: readonly Buffer[]): string[] {
  const messages: string[] = [];
  const receiver = new Receiver({ isServer: false, maxPayload: 1_000_000 });
  receiver.on('message', (data) => void messages.push(data.toString()));
  for (const frame of frames) receiver.write(frame);
  return messages;
}

test('a frame is one that clients read, whatever its length', () => {
  for (const length of [0, 1, 125, 126, 65_535, 65_536, 200_000]) {
    const message = 'é'.repeat(length / 2) + 'x'.repeat(length % 2);
    assert.deepEqual(read([textFrame(Buffer.from(message))]), [message], `${length} bytes`);
    const frame = latin1Frame(Buffer.from(message).toString('latin1'));
    assert.deepEqual(read([Buffer.from(frame, 'latin1')]), [message], `${length} bytes as text`);
  }
});

test('what comes in one turn is one write to each, of the same bytes', async () => {
  const { all, written, write } = audience(3);
  const broadcast = createBroadcast(write);
  for (let n = 0; n < 100; n++) broadcast.send('news', Buffer.from(`{"n":${n}}`), () => all);
  await nextTurn();
  const [first = []] = written.values();
  assert.equal(first.length, 1);
  for (const frames of written.values()) assert.equal(frames[0], first[0]);
  assert.deepEqual(
    read(first),
    Array.from({ length: 100 }, (_, n) => `{"n":${n}}`),
  );
});

test('topics are told in the order in which they came', async () => {
  const { all, written, write } = audience(2);
  const broadcast = createBroadcast(write);
  const [one] = all as [Connection];
  for (const [topic, text] of [
    ['all', 'a'],
    ['all', 'b'],
    ['one', 'c'],
    ['all', 'd'],
  ] as const)
    broadcast.send(topic, Buffer.from(text), () => (topic === 'all' ? all : [one]));
  await nextTurn();
  assert.deepEqual([...written.values()].map(read), [
    ['a', 'b', 'c', 'd'],
    ['a', 'b', 'd'],
  ]);
});

test('others get their turn of the event loop while very many are told', async () => {
  const { all, written, write } = audience(2_000);
  const broadcast = createBroadcast(write);
  broadcast.send('news', Buffer.from('first'), () => all);
  await nextTurn();
  const toldAtOnce = [...written.values()].filter(({ length }) => length > 0).length;
  assert.ok(toldAtOnce > 0 && toldAtOnce < 1_000, `${toldAtOnce} in the first turn`);
  broadcast.send('news', Buffer.from('second'), () => all);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  for (const frames of written.values()) assert.deepEqual(read(frames), ['first', 'second']);
});

test('more than can be written is refused, and not held', async () => {
  const { all, written, write } = audience(1);
  const broadcast = createBroadcast(write);
  const megabyte = Buffer.alloc(1_000_000, 'x');
  const sent = Array.from({ length: 50 }, () => broadcast.send('news', megabyte, () => all)).filter(Boolean).length;
  assert.ok(sent >= 30 && sent <= 34, `${sent} MB were taken`);
  while (read(written.get(all[0] as Connection) ?? []).length < sent) await nextTurn();
  assert.ok(
    broadcast.send('news', megabyte, () => all),
    'there is room again',
  );
});
