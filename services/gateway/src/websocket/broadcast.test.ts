import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { createBroadcast } from './broadcast.ts';
import type { Connection } from './connections.ts';

/** Connections that record their messages. */
function createRecorders(count: number): {
  all: Connection[];
  calls: Map<Connection, (readonly Uint8Array[])[]>;
  write: (to: Connection, messages: readonly Uint8Array[]) => void;
} {
  const calls = new Map<Connection, (readonly Uint8Array[])[]>();
  const all = Array.from({ length: count }, () => {
    const connection = {} as Connection;
    calls.set(connection, []);
    return connection;
  });
  return { all, calls, write: (to, messages) => void calls.get(to)?.push(messages) };
}

/** The text of all messages of one connection. */
const read = (calls: readonly (readonly Uint8Array[])[]): string[] => calls.flat().map((message) => Buffer.from(message).toString());

test('sends the messages of one turn in one call per connection', async () => {
  const { all, calls, write } = createRecorders(3);
  const broadcast = createBroadcast(write);
  for (let n = 0; n < 100; n++) broadcast.send('news', Buffer.from(`{"n":${n}}`), () => all);
  await nextTurn();
  const [first = []] = calls.values();
  assert.equal(first.length, 1);
  for (const frames of calls.values()) assert.equal(frames[0], first[0]);
  assert.deepEqual(
    read(first),
    Array.from({ length: 100 }, (_, n) => `{"n":${n}}`),
  );
});

test('keeps the order of messages across topics', async () => {
  const { all, calls, write } = createRecorders(2);
  const broadcast = createBroadcast(write);
  const [single] = all as [Connection];
  for (const [topic, text] of [
    ['all', 'a'],
    ['all', 'b'],
    ['one', 'c'],
    ['all', 'd'],
  ] as const)
    broadcast.send(topic, Buffer.from(text), () => (topic === 'all' ? all : [single]));
  await nextTurn();
  assert.deepEqual([...calls.values()].map(read), [
    ['a', 'b', 'c', 'd'],
    ['a', 'b', 'd'],
  ]);
});

test('yields to the event loop between slices of connections', async () => {
  const { all, calls, write } = createRecorders(2_000);
  const broadcast = createBroadcast(write);
  broadcast.send('news', Buffer.from('first'), () => all);
  await nextTurn();
  const receivedInFirstTurn = [...calls.values()].filter(({ length }) => length > 0).length;
  assert.ok(receivedInFirstTurn > 0 && receivedInFirstTurn < 1_000, `${receivedInFirstTurn} in the first turn`);
  broadcast.send('news', Buffer.from('second'), () => all);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  for (const frames of calls.values()) assert.deepEqual(read(frames), ['first', 'second']);
});

test('refuses messages above the waiting limit', async () => {
  const { all, calls, write } = createRecorders(1);
  const broadcast = createBroadcast(write);
  const megabyte = Buffer.alloc(1_000_000, 'x');
  const sent = Array.from({ length: 50 }, () => broadcast.send('news', megabyte, () => all)).filter(Boolean).length;
  assert.ok(sent >= 30 && sent <= 34, `${sent} MB were accepted`);
  while (read(calls.get(all[0] as Connection) ?? []).length < sent) await nextTurn();
  assert.ok(
    broadcast.send('news', megabyte, () => all),
    'accepts messages again',
  );
});
