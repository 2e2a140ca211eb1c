import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as open, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { MongoClient } from 'mongodb';
import { startMongo } from '@switchyard/testkit';
import { ENDING, EndingConnection } from './closing-connection.ts';

const ADMIN = { db: 'admin' };
/** More than the two ends of a connection hold between them. */
const MUCH = 'x'.repeat(15 * 1024 * 1024);

/** Both ends of a connection; what comes to the far one is not read. */
async function ends(t: TestContext): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const near = open((server.address() as AddressInfo).port, '127.0.0.1');
  const [far] = (await once(server, 'connection')) as [Socket];
  t.after(() => far.destroy());
  return { near, far };
}

function connectionOn(socket: Socket): EndingConnection {
  return new EndingConnection(socket, { id: 1, hostAddress: { toString: () => 'there' }, generation: 0 });
}

test('a command on a socket that is gone, and did not say so yet, is refused', async (t) => {
  const { near } = await ends(t);
  const connection = connectionOn(near);
  near.destroy();
  assert.equal(connection.closed, false);
  await assert.rejects(connection.command(ADMIN, { hello: 1 }, {}), { name: 'MongoNetworkError' });
  assert.equal(connection.closed, true);
  assert.throws(() => near.write('late'), /closed/);
});

test('a command that the socket did not take whole is refused when the connection ends', async (t) => {
  for (const end of [({ far }: { far: Socket }) => far.resetAndDestroy(), ({ near }: { near: Socket }) => near.destroy()]) {
    const pair = await ends(t);
    const asked = connectionOn(pair.near).command(ADMIN, { hello: 1, much: MUCH }, {});
    // Until what was written waits in the socket.
    while (!pair.near.writableNeedDrain) await new Promise(setImmediate);
    end(pair);
    await assert.rejects(asked, /closed|ECONNRESET/);
  }
});

test('the driver takes the class for what looks out for servers, and for commands', async (t) => {
  const server = await startMongo();
  t.after(() => server.stop());
  const made = new Set<string>();
  class Counted extends EndingConnection {
    constructor(socket: Socket, options: { id: number | string }) {
      super(socket, options);
      made.add(typeof options.id);
    }
  }
  assert.ok(Object.hasOwn(ENDING, 'connectionType'));
  const options: object = { connectionType: Counted };
  await using client = await new MongoClient(server.url, options).connect();
  await client.db('admin').command({ ping: 1 });
  // A look-out is called by a word.
  assert.deepEqual([...made].toSorted(), ['number', 'string']);
});
