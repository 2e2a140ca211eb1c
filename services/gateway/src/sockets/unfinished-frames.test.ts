import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../admission/tokens.ts';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';

const ping = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', method: 'system.ping', id });

test('a message that is begun and not finished counts against its client over all connections, who is cut off when it is too much', async () => {
  await using gateway = await startTestGateway();
  const part = Buffer.alloc(2_000_000, 'x');
  const begun = await Promise.all(Array.from({ length: 20 }, () => gateway.connect(SECRETS.rpc)));
  const other = await gateway.connect(SECRETS.all);
  for (const { socket } of begun) socket.send(part, { fin: false, binary: false });
  const { code } = await Promise.race(begun.map(({ closed }) => closed));
  assert.equal(code, 1008);
  assert.equal((await other.ask(ping(1))).id, 1);
  const [connection] = gateway.gateway.connections.byClient({ key: 'default.rpc' } as Caller) ?? [];
  assert.ok((connection?.caller.unfinished ?? 0) <= 32 * 1024 * 1024, `${connection?.caller.unfinished} bytes are held`);
  for (const { socket } of begun) socket.terminate();
});

test('a message that is finished is no longer counted, with pings in the middle of it', async () => {
  await using gateway = await startTestGateway();
  const { socket, next } = await gateway.connect(SECRETS.rpc);
  for (let n = 0; n < 3; n++) {
    socket.send('[', { fin: false });
    socket.ping('still there');
    socket.send(`${ping(n)}]`, { fin: true });
    await next();
  }
  const [connection] = gateway.gateway.connections.byClient({ key: 'default.rpc' } as Caller) ?? [];
  assert.equal(connection?.caller.unfinished, 0);
});
