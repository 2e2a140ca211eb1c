import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { startMongo, openNats, tempDir, type MongoServer } from '@switchyard/testkit';
import { contents } from './clients.ts';
import { launch, post, type Running } from './embedded.ts';
import { call, mint, request } from './exchange.ts';

const token = 'a-token-that-both-replicas-are-given';

let [mongo, nats]: [MongoServer?, Awaited<ReturnType<typeof openNats>>?] = [];
before(async () => void ([mongo, nats] = await Promise.all([startMongo(), openNats()])));
after(() => Promise.all([mongo?.stop(), nats?.stop()]));

/** All services in one process, with all shared data in MongoDB. */
async function startReplica(): Promise<Running> {
  await using starting = new AsyncDisposableStack();
  const { path: data } = starting.use(await tempDir());
  const env = { SWITCHYARD_STORE: mongo?.url ?? '', SWITCHYARD_BUS: nats?.url ?? '', SWITCHYARD_TOKEN: token };
  const child = starting.use(await launch(data, env, { ready: /^Try:/m }));
  const { url } = JSON.parse(await readFile(`${data}/run.json`, 'utf8')) as { url: string };
  const started = starting.move();
  return { url, token, client: 'env', tenant: 'default', data, process: child, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

const sendMessage = (product: Running, message: string) =>
  call<{ response: string }>(product, 'agent.execute', { message, sessionKey: { channelId: 'shared' } });

/** The status of a call that any token may make. */
const status = async (product: Running, secret: string): Promise<number> =>
  (await post(product, request('session.history', { channelId: 'shared' }), { authorization: `Bearer ${secret}` })).status;

test('replicas share turns, tokens and history in one MongoDB across a crash and a restart', async () => {
  let revoked = '';
  {
    await using one = await startReplica();
    await using other = await startReplica();
    assert.match((await sendMessage(one, 'first')).response, /first/);
    assert.match((await sendMessage(other, 'second')).response, /second/);
    assert.deepEqual(
      (await contents(one, 'shared')).filter((_, n) => n % 2 === 0),
      ['first', 'second'],
    );

    const { id, secret } = await mint(one, 'rpc');
    revoked = secret;
    assert.equal(await status(other, secret), 200);
    await call(other, 'tokens.revoke', { id });
    assert.deepEqual([await status(one, secret), await status(other, secret)], [401, 401]);

    await one.process.end('SIGKILL');
    assert.match((await sendMessage(other, 'third')).response, /third/);
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => call(other, 'agent.execute', { message: `${n}`, sessionKey: { channelId: `c${n}` } })),
    );
  }
  await using again = await startReplica();
  assert.deepEqual(
    (await contents(again, 'shared')).filter((_, n) => n % 2 === 0),
    ['first', 'second', 'third'],
  );
  assert.equal(await status(again, revoked), 401);
  assert.match((await sendMessage(again, 'fourth')).response, /fourth/);
});
