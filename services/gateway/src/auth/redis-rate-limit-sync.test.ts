import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openCache } from '@switchyard/cache';
import { silentLogger } from '@switchyard/telemetry';
import { startRedisServer, type RedisServer } from '@switchyard/testkit';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';

const PING = '{"jsonrpc":"2.0","method":"system.ping","id":1}';
const MAX = 40;
const settings = { rateLimit: { maxRequests: MAX, windowMs: 60_000 } };

let redis: RedisServer;
before(async () => void (redis = await startRedisServer()));
after(() => redis.stop());

/** A gateway with its own bus, so that it shares only Redis with the others. */
async function startGateway(t: TestContext, { url }: RedisServer = redis): Promise<TestGateway> {
  const cache = await openCache(url, { service: 'gateway', log: silentLogger() });
  const opened = await startTestGateway({ settings, cache });
  t.after(async () => {
    await opened[Symbol.asyncDispose]();
    await cache.close();
  });
  return opened;
}

async function startOwnRedis(t: TestContext): Promise<RedisServer> {
  const server = await startRedisServer();
  t.after(() => server.stop());
  return server;
}

async function sendPing(target: TestGateway, token: string = SECRETS.all): Promise<number> {
  const { status } = await target.post('/rpc', PING, { token });
  assert.ok(status === 200 || status === 429, `status ${status}`);
  return status;
}

/** Sends requests and returns the number of accepted ones. */
async function countAccepted(target: TestGateway, times: number, token?: string): Promise<number> {
  let accepted = 0;
  for (let n = 0; n < times; n++) if ((await sendPing(target, token)) === 200) accepted++;
  return accepted;
}

/** Sends requests until one is refused, long before this gateway alone would refuse it. */
async function waitForRefusal(target: TestGateway, token?: string): Promise<void> {
  let accepted = 0;
  for (; (await sendPing(target, token)) === 200; accepted++) await delay(30);
  assert.ok(accepted < MAX / 2, `${accepted} requests were accepted`);
}

test('counts of one gateway reach the other and a gateway that starts later', async (t) => {
  const [a, b] = [await startGateway(t), await startGateway(t)];
  assert.equal(await countAccepted(a, MAX), MAX);
  await waitForRefusal(b);
  assert.ok((await countAccepted(b, MAX, SECRETS.rpc)) > 0, 'another client has its own window');
  const late = await startGateway(t);
  assert.equal(await countAccepted(late, 3), 0, 'a new gateway starts with the counts of the others');
});

test('requests succeed while Redis is killed, and each gateway counts alone until it is back', async (t) => {
  const server = await startOwnRedis(t);
  const [a, b] = [await startGateway(t, server), await startGateway(t, server)];
  assert.equal(await countAccepted(a, MAX / 2), MAX / 2);
  const running = Promise.all([countAccepted(a, MAX), countAccepted(b, 2 * MAX)]);
  await server.kill();
  const [acceptedByA, acceptedByB] = await running;
  assert.equal(acceptedByA, MAX / 2, 'the gateway keeps its own counts');
  assert.ok(acceptedByB <= MAX && acceptedByB >= MAX / 4, `alone it accepts its own rate minus the counts received before: ${acceptedByB}`);
  assert.deepEqual([await countAccepted(a, 5), await countAccepted(b, 5)], [0, 0]);

  await server.restart();
  const late = await startGateway(t, server);
  while ((await countExchangedMessages(server)) === 0) {
    await sendPing(a, SECRETS.mcp);
    await delay(200); // the rate must last until Redis is connected again
  }
  await countAccepted(a, MAX, SECRETS.rpc);
  await waitForRefusal(late, SECRETS.rpc);
});

test('requests do not wait for a stalled Redis', async (t) => {
  const server = await startOwnRedis(t);
  const a = await startGateway(t, server);
  server.pause();
  t.after(() => server.goOn());
  const count = 200;
  const startedAt = performance.now();
  assert.equal(await countAccepted(a, count), MAX);
  const elapsedMs = performance.now() - startedAt;
  assert.ok(elapsedMs < (count * 50) / 2, `${count} requests took ${elapsedMs} ms`);
});

/** The number of messages exchanged through Redis. */
async function countExchangedMessages(server: RedisServer): Promise<number> {
  const cache = await openCache(server.url, { service: 'gateway', log: silentLogger() });
  const messages = await cache.board(['counted'], 60_000).exchange();
  await cache.close();
  return messages.length;
}
