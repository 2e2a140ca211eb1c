import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as open, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { startMongo } from '@switchyard/testkit';
import { CONNECTION_OPTIONS, ClosingConnection } from './closing-connection.ts';

const ADMIN = { db: 'admin' };
/** More than the socket buffers of a connection hold. */
const LARGE_TEXT = 'x'.repeat(15 * 1024 * 1024);

/** Opens a connection whose far end does not read. */
async function openSocketPair(t: TestContext): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const near = open((server.address() as AddressInfo).port, '127.0.0.1');
  const [far] = (await once(server, 'connection')) as [Socket];
  t.after(() => far.destroy());
  return { near, far };
}

function createConnection(socket: Socket): ClosingConnection {
  return new ClosingConnection(socket, { id: 1, hostAddress: { toString: () => 'there' }, generation: 0 });
}

test('rejects a command on a destroyed socket that has not emitted close', async (t) => {
  const { near } = await openSocketPair(t);
  const connection = createConnection(near);
  near.destroy();
  assert.equal(connection.closed, false);
  await assert.rejects(connection.command(ADMIN, { hello: 1 }, {}), { name: 'MongoNetworkError' });
  assert.equal(connection.closed, true);
  assert.throws(() => near.write('late'), /closed/);
});

test('rejects a command that waits for drain when the connection closes', async (t) => {
  for (const end of [({ far }: { far: Socket }) => far.resetAndDestroy(), ({ near }: { near: Socket }) => near.destroy()]) {
    const pair = await openSocketPair(t);
    const command = createConnection(pair.near).command(ADMIN, { hello: 1, text: LARGE_TEXT }, {});
    while (!pair.near.writableNeedDrain) await new Promise(setImmediate);
    end(pair);
    await assert.rejects(command, /closed|ECONNRESET/);
  }
});

test('the driver uses the class for monitors and for commands', async (t) => {
  const server = await startMongo();
  t.after(() => server.stop());
  const idTypes = new Set<string>();
  class CountedConnection extends ClosingConnection {
    constructor(socket: Socket, options: { id: number | string }) {
      super(socket, options);
      idTypes.add(typeof options.id);
    }
  }
  assert.ok(Object.hasOwn(CONNECTION_OPTIONS, 'connectionType'));
  const options: object = { connectionType: CountedConnection };
  await using client = await new MongoClient(server.url, options).connect();
  await client.db('admin').command({ ping: 1 });
  // The ids of monitor connections are strings.
  assert.deepEqual([...idTypes].toSorted(), ['number', 'string']);
});

test('the class of the driver alone still hangs on a destroyed socket; when this fails, delete ClosingConnection', async (t) => {
  const { near } = await openSocketPair(t);
  const DriverConnection = Object.getPrototypeOf(ClosingConnection) as typeof ClosingConnection;
  const connection = new DriverConnection(near, { id: 1, hostAddress: { toString: () => 'server' }, generation: 0 });
  near.destroy();
  const settled = connection.command(ADMIN, { hello: 1 }, {}).then(
    () => 'settled',
    () => 'settled',
  );
  assert.equal(await Promise.race([settled, delay(1_000, 'hangs')]), 'hangs');
});
