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
async function gateway(t: TestContext, { url }: RedisServer = redis): Promise<TestGateway> {
  const cache = await openCache(url, { service: 'gateway', log: silentLogger() });
  const opened = await startTestGateway({ settings, cache });
  t.after(async () => {
    await opened[Symbol.asyncDispose]();
    await cache.close();
  });
  return opened;
}

async function ownRedis(t: TestContext): Promise<RedisServer> {
  const mine = await startRedisServer();
  t.after(() => mine.stop());
  return mine;
}

async function ask(to: TestGateway, token: string = SECRETS.all): Promise<number> {
  const { status } = await to.post('/rpc', PING, { token });
  assert.ok(status === 200 || status === 429, `answered ${status}`);
  return status;
}

/** Sends requests and returns the number of accepted ones. */
async function letThrough(to: TestGateway, times: number, token?: string): Promise<number> {
  let through = 0;
  for (let n = 0; n < times; n++) if ((await ask(to, token)) === 200) through++;
  return through;
}

/** Sends requests until one is refused, long before this gateway alone would refuse it. */
async function refusedSoon(to: TestGateway, token?: string): Promise<void> {
  let through = 0;
  for (; (await ask(to, token)) === 200; through++) await delay(30);
  assert.ok(through < MAX / 2, `${through} were let through`);
}

test('counts of one gateway reach the other and a gateway that starts later', async (t) => {
  const [a, b] = [await gateway(t), await gateway(t)];
  assert.equal(await letThrough(a, MAX), MAX);
  await refusedSoon(b);
  assert.ok((await letThrough(b, MAX, SECRETS.rpc)) > 0, 'another client has its own');
  const late = await gateway(t);
  assert.equal(await letThrough(late, 3), 0, 'it knows from the start');
});

test('requests succeed while Redis is killed, and each gateway counts alone until it is back', async (t) => {
  const mine = await ownRedis(t);
  const [a, b] = [await gateway(t, mine), await gateway(t, mine)];
  assert.equal(await letThrough(a, MAX / 2), MAX / 2);
  const under = Promise.all([letThrough(a, MAX), letThrough(b, 2 * MAX)]);
  await mine.kill();
  const [ofA, ofB] = await under;
  assert.equal(ofA, MAX / 2, 'what was counted here is not forgotten');
  assert.ok(ofB <= MAX && ofB >= MAX / 4, `alone it lets through its own rate, less what it had heard: ${ofB}`);
  assert.deepEqual([await letThrough(a, 5), await letThrough(b, 5)], [0, 0]);

  await mine.restart();
  const late = await gateway(t, mine);
  while ((await notesOn(mine)) === 0) {
    await ask(a, SECRETS.mcp);
    await delay(200); // the rate must last until Redis is connected again
  }
  await letThrough(a, MAX, SECRETS.rpc);
  await refusedSoon(late, SECRETS.rpc);
});

test('requests do not wait for a stalled Redis', async (t) => {
  const mine = await ownRedis(t);
  const a = await gateway(t, mine);
  mine.pause();
  t.after(() => mine.goOn());
  const asked = 200;
  const began = performance.now();
  assert.equal(await letThrough(a, asked), MAX);
  const took = performance.now() - began;
  assert.ok(took < (asked * 50) / 2, `${asked} requests took ${took} ms`);
});

/** The number of messages exchanged through Redis. */
async function notesOn(server: RedisServer): Promise<number> {
  const cache = await openCache(server.url, { service: 'gateway', log: silentLogger() });
  const notes = await cache.board(['counted'], 60_000).exchange();
  await cache.close();
  return notes.length;
}
