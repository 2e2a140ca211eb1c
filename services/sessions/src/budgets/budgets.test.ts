import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { startMongo, tempDir, type MongoServer } from '@switchyard/testkit';
import { agent, call, NOON, replica, spend, standingClock } from './budgets.fixture.ts';

const HOUR = 'agent:oslo perHour 2100-01-01T12';
const DAY = 'agent:oslo perDay 2100-01-01T00';
const MINUTE_MS = 60_000;

function refusedWith(retryAfterMs: number, message: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof ServiceError);
    const { reason, rate } = error.details;
    assert.deepEqual([error.code, reason, rate, error.details.retryAfterMs], ['RESOURCE_EXHAUSTED', 'BUDGET_EXCEEDED', true, retryAfterMs]);
    assert.match(error.message, message);
    return true;
  };
}

let server: MongoServer;
let databases = 0;
before(async () => (server = await startMongo()));
after(() => server.stop());

const stores: Record<string, (dir: string) => string> = {
  sqlite: (dir) => `sqlite:${join(dir, 'store')}`,
  mongodb: () => {
    const url = new URL(server.url);
    url.pathname += `b${(databases += 1)}`;
    return url.href;
  },
};

for (const [name, urlIn] of Object.entries(stores)) {
  describe(`budgets on ${name}`, () => {
    test('two concurrent replicas never exceed the limit', async () => {
      await using dir = await tempDir();
      const url = urlIn(dir.path);
      await using one = await replica(url);
      await using two = await replica(url);
      const limited = agent({ perHour: 10_000 });
      const size = { input: 5, output: 5 };
      const workers = [one, two, one, two, one, two].map(({ budgets }) => spend(budgets, limited, size));
      const total = (await Promise.all(workers)).reduce((sum, tokens) => sum + tokens, 0);
      assert.ok(total <= 10_000 && total > 10_000 - 2 * 640, `${total}`);
    });

    test('the reservations of a killed replica count as used', async () => {
      await using dir = await tempDir();
      const url = urlIn(dir.path);
      const limited = agent({ perHour: 10_000 });
      const dead = await replica(url);
      await dead.budgets.of({ tenant: 'default' }, limited).reserve(call(5, 5));
      const aside = await dead.used(HOUR);
      await dead.die();
      assert.ok(aside >= 10 && aside <= 10_000 / 16, `${aside}`);
      await using other = await replica(url);
      const left = await spend(other.budgets, limited, { input: 5, output: 5 });
      // The last call may exceed the remaining budget.
      assert.ok(left >= 10_000 - aside && left < 10_000 - aside + 10, `${left}`);
    });
  });
}

/** One replica with an adjustable clock. */
async function alone(dir: string) {
  const time = { now: NOON };
  const { clock, move } = standingClock();
  return { time, move, ...(await replica(`sqlite:${join(dir, 'store')}`, { now: () => time.now, clock })) };
}

test('an exhausted budget is rejected with the setting and retryAfterMs, and is available again after that time', async () => {
  await using dir = await tempDir();
  await using one = await alone(dir.path);
  const limited = agent({ perHour: 100 });
  const budget = one.budgets.of({ tenant: 'default' }, limited);
  one.time.now = NOON + 45 * MINUTE_MS;
  (await budget.reserve(call(50, 50))).settle({ tokens: 100, costUsd: 0 });
  await assert.rejects(
    budget.reserve(call(1, 1)),
    refusedWith(15 * MINUTE_MS, /oslo has used up the 100 tokens of agents\.oslo\.budgets\.perHour/),
  );
  one.time.now += 15 * MINUTE_MS;
  (await budget.reserve(call(1, 1))).settle({ tokens: 2, costUsd: 0 });
});

test('a daily limit spans several hours, and a cost limit uses list prices', async () => {
  await using dir = await tempDir();
  await using one = await alone(dir.path);
  const ends = 12 * 60 * MINUTE_MS;
  const frugal = agent({ perDay: 150 });
  for (const hour of [0, 1]) {
    one.time.now = NOON + hour * 60 * MINUTE_MS;
    (await one.budgets.of({ tenant: 'default' }, frugal).reserve(call(50, 50))).settle({ tokens: 100, costUsd: 0 });
  }
  await assert.rejects(
    one.budgets.of({ tenant: 'default' }, frugal).reserve(call(1, 1)),
    refusedWith(ends - 60 * MINUTE_MS, /150 tokens .*perDay/),
  );

  // 1,000 input tokens cost 0.1 cents and 1,000 output tokens cost 1 cent.
  const poor = agent({ perDayUsd: 0.02 });
  const budget = one.budgets.of({ tenant: 'acme' }, poor);
  (await budget.reserve(call(1_000, 1_000))).settle({ tokens: 2_000, costUsd: 0.011 });
  (await budget.reserve(call(1_000, 1_000))).settle({ tokens: 2_000, costUsd: 0.011 });
  await assert.rejects(budget.reserve(call(1, 1)), refusedWith(ends - 60 * MINUTE_MS, /\$0\.02 of agents\.oslo\.budgets\.perDayUsd/));
});

test('settle counts use above the reservation and returns the unused part', async () => {
  await using dir = await tempDir();
  await using one = await alone(dir.path);
  const budget = one.budgets.of({ tenant: 'default' }, agent({ perHour: 1_000 }));
  (await budget.reserve(call(10, 990))).settle({ tokens: 20, costUsd: 0 });
  (await budget.reserve(call(10, 10))).settle({ tokens: 980, costUsd: 0 });
  await assert.rejects(budget.reserve(call(1, 1)), { code: 'RESOURCE_EXHAUSTED' });
});

test('budgets are separate for each tenant', async () => {
  await using dir = await tempDir();
  await using one = await alone(dir.path);
  const limited = agent({ perHour: 10 });
  (await one.budgets.of({ tenant: 'default' }, limited).reserve(call(5, 5))).settle({ tokens: 10, costUsd: 0 });
  await assert.rejects(one.budgets.of({ tenant: 'default' }, limited).reserve(call(5, 5)), { code: 'RESOURCE_EXHAUSTED' });
  (await one.budgets.of({ tenant: 'acme' }, limited).reserve(call(5, 5))).settle({ tokens: 10, costUsd: 0 });
});

test('a raised limit applies to the next call', async () => {
  await using dir = await tempDir();
  await using one = await alone(dir.path);
  const sendRequest = (perHour: number) => one.budgets.of({ tenant: 'default' }, agent({ perHour })).reserve(call(5, 5));
  (await sendRequest(10)).settle({ tokens: 10, costUsd: 0 });
  await assert.rejects(sendRequest(10), { code: 'RESOURCE_EXHAUSTED' });
  (await sendRequest(20)).settle({ tokens: 10, costUsd: 0 });
  await assert.rejects(sendRequest(20), { code: 'RESOURCE_EXHAUSTED' });
});

test('most calls write nothing, and an idle allotment is returned to the store', async () => {
  await using dir = await tempDir();
  await using one = await alone(dir.path);
  const standard = agent({});
  const budget = one.budgets.of({ tenant: 'default' }, standard);
  const writes = new Set<number>();
  for (let n = 0; n < 100; n += 1) {
    (await budget.reserve(call(20, 20))).settle({ tokens: 40, costUsd: 0 });
    writes.add(await one.used(HOUR));
  }
  assert.ok(writes.size <= 2, `${writes.size} writes for a hundred calls`);
  one.move(5_000);
  assert.deepEqual([await one.used(HOUR), await one.used(DAY)], [4_000, 4_000]);
});

test('a token budget applies to every agent and to one client only', async () => {
  await using dir = await tempDir();
  await using one = await alone(dir.path);
  const asks = (client: string) => one.budgets.of({ tenant: 'default', client, budgets: { perHour: 10 } }, agent({})).reserve(call(5, 5));
  (await asks('laptop')).settle({ tokens: 10, costUsd: 0 });
  await assert.rejects(asks('laptop'), refusedWith(60 * MINUTE_MS, /The token laptop has used up the 10 tokens of its budgets\.perHour/));
  (await asks('desktop')).settle({ tokens: 10, costUsd: 0 });
  // The unused part of the agent's allotment is returned.
  one.move(5_000);
  assert.equal(await one.used(HOUR), 20);
});

test('a client uses no more than its share of the budget of an agent', async () => {
  await using dir = await tempDir();
  await using one = await alone(dir.path);
  const shared = agent({ perHour: 20, clientShare: 0.5 });
  const asks = (client: string) => one.budgets.of({ tenant: 'default', client }, shared).reserve(call(5, 5));
  (await asks('laptop')).settle({ tokens: 10, costUsd: 0 });
  const message = /share of client laptop of agent oslo has used up the 10 tokens of agents\.oslo\.budgets\.perHour/;
  await assert.rejects(asks('laptop'), refusedWith(60 * MINUTE_MS, message));
  (await asks('desktop')).settle({ tokens: 10, costUsd: 0 });
  await assert.rejects(asks('phone'), refusedWith(60 * MINUTE_MS, /agent oslo has used up the 20 tokens/));
});

test('reserveNow draws on the local allotment of every limit and returns undefined for cost limits', async () => {
  await using dir = await tempDir();
  await using one = await replica(stores['sqlite']?.(dir.path) ?? '');
  const budget = one.budgets.of({ tenant: 'default' }, agent({ perHour: 10_000, perDay: 1_000 }));
  assert.equal(budget.reserveNow(call(5, 5)), undefined, 'nothing was asked for yet');
  (await budget.reserve(call(5, 5))).settle({ tokens: 10, costUsd: 0 });
  const [hour, day] = [await one.used(HOUR), await one.used(DAY)];
  let given = 0;
  for (;;) {
    const reserved = budget.reserveNow(call(5, 5));
    if (!reserved) break;
    reserved.settle({ tokens: 10, costUsd: 0 });
    given += 10;
  }
  assert.ok(hour > day, 'the day has less to give');
  assert.equal(given, Math.floor(day / 10) * 10 - 10);
  assert.deepEqual([await one.used(HOUR), await one.used(DAY)], [hour, day], 'nobody was asked meanwhile');
  (await budget.reserve(call(5, 5))).settle({ tokens: 10, costUsd: 0 });
  const inMoney = one.budgets.of({ tenant: 'default' }, agent({ perHour: 10_000, perHourUsd: 1 }));
  (await inMoney.reserve(call(5, 5))).settle({ tokens: 10, costUsd: 0 });
  assert.equal(inMoney.reserveNow(call(5, 5)), undefined);
});

test('refills double up to 1,024 calls when used up within a second, and start again at 64 after a pause', async () => {
  await using dir = await tempDir();
  const { clock, move } = standingClock();
  await using one = await replica(stores['sqlite']?.(dir.path) ?? '', { clock });
  const budget = one.budgets.of({ tenant: 'default' }, agent({ perHour: 1_000_000_000 }));
  const size = call(5, 5);
  let before = 0;
  /** Uses up the allotment and returns the number of calls in the next refill. */
  const setAside = async (): Promise<number> => {
    while (budget.reserveNow(size));
    (await budget.reserve(size)).settle({ tokens: 0, costUsd: 0 });
    const used = await one.used(HOUR);
    const calls = (used - before) / 10;
    before = used;
    return calls;
  };
  const sizes = [];
  for (let n = 0; n < 6; n += 1) sizes.push(await setAside());
  assert.deepEqual(sizes, [64, 128, 256, 512, 1_024, 1_024]);
  move(1_000);
  assert.equal(await setAside(), 64);
});
