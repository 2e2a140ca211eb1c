import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as dial, createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { BSON } from 'mongodb';
import { startMongo } from '@switchyard/testkit';
import { a, items, newItem } from '../contract/fixture.contract.ts';
import { openStore } from '../index.ts';

const OP_MSG = 2013;
const HEADER_BYTES = 16;
/** Bytes before the command: header, flags and kind of the first section. */
const COMMAND_AT = HEADER_BYTES + 5;

type Command = Record<string, unknown>;

/** A proxy that records every command to the server. */
async function listenIn(t: TestContext, port: number): Promise<{ port: number; commands: Command[] }> {
  const commands: Command[] = [];
  const proxy = createServer((socket) => {
    const server = dial(port, '127.0.0.1');
    let rest: Buffer = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let length = getLength(rest); length <= rest.length; length = getLength(rest)) {
        if (rest.readInt32LE(12) === OP_MSG) {
          const end = COMMAND_AT + rest.readInt32LE(COMMAND_AT);
          commands.push(BSON.deserialize(rest.subarray(COMMAND_AT, end)));
        }
        rest = rest.subarray(length);
      }
      server.write(bytes);
    });
    server.pipe(socket);
    for (const one of [socket, server]) one.on('error', () => undefined).on('close', () => void (socket.destroy(), server.destroy()));
  }).listen(0, '127.0.0.1');
  t.after(() => proxy.close());
  await once(proxy, 'listening');
  return { port: (proxy.address() as AddressInfo).port, commands };
}

function getLength(bytes: Buffer): number {
  return bytes.length < HEADER_BYTES ? Infinity : bytes.readInt32LE(0);
}

const WRITES = ['insert', 'update', 'delete', 'findAndModify'];
const READS = ['find', 'aggregate'];

test('sends majority write and read concern and a time limit with every command', async (t) => {
  const server = await startMongo();
  t.after(() => server.stop());
  const { port, commands } = await listenIn(t, Number(new URL(server.url).port || 27_017));
  const url = new URL(server.url);
  url.port = String(port);
  url.searchParams.delete('replicaSet'); // otherwise the driver connects to the members directly
  url.searchParams.set('directConnection', 'true');
  const store = await openStore(url.href, { service: 'wire' });
  t.after(() => store.close());
  const mine = (await store.open({ items })).items.for(a);
  const made = { emit: [{ name: 'item:made', payload: {} }] };
  const settled = Promise.withResolvers<void>();
  await store.publishTo(async () => settled.resolve());
  const from = commands.length;
  await mine.insert(newItem('1'), made);
  await settled.promise;
  await mine.update({ id: '1' }, { inc: { n: 1 } });
  await mine.claim({ n: 1 }, { set: { title: 'y' } }, { sort: [['n', 'asc']] });
  await mine.replace(newItem('2'));
  await mine.find({});
  await mine.count({});
  await mine.get('1');
  await mine.remove({});

  const of = (names: readonly string[]) => commands.slice(from).filter((command) => names.some((name) => command[name] === 'items'));
  assert.ok(of(WRITES).length >= 6 && of(READS).length >= 3);
  for (const command of of(WRITES))
    assert.deepEqual({ ...(command['writeConcern'] as object), wtimeout: 8_000 }, { w: 'majority', j: true, wtimeout: 8_000 });
  for (const command of of(READS)) assert.deepEqual(command['readConcern'], { level: 'majority' });
  for (const command of [...of(WRITES), ...of(READS)]) assert.ok(Number(command['maxTimeMS']) > 0, JSON.stringify(Object.keys(command)));
});
