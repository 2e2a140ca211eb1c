import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectBus, createMemoryHub, type Bus } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { testSettings } from '../gateway.fixture.ts';
import { rates, type RateLimits } from './rate-limits.ts';
import { openSharedRateLimits } from './shared-rate-limits.ts';

const settings = testSettings({ rateLimit: { maxRequests: 3, windowMs: 60_000 } });
const rate = rates.requests(settings.current.gateway);
const authFailures = rates.authFailures(settings.current.gateway);

/** Two gateways on one bus. */
async function openTwoGateways(t: TestContext): Promise<{ a: RateLimits; b: RateLimits; bus: Bus }> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const hub = createMemoryHub();
  const connect = async (): Promise<Bus> => {
    const bus = await connectBus('memory:', { hub, log: silentLogger(), service: 'gateway' });
    t.after(() => bus.drain());
    return bus;
  };
  const open = async (): Promise<RateLimits> => {
    const limits = await openSharedRateLimits({ bus: await connect(), cache: undefined, settings });
    t.after(() => limits[Symbol.dispose]());
    return limits;
  };
  return { a: await open(), b: await open(), bus: await connect() };
}

/** Waits until counts reach the other gateways. */
async function waitForSync(t: TestContext): Promise<void> {
  t.mock.timers.tick(50);
  await new Promise((resolve) => void setImmediate(resolve));
}

test('counts of one replica reach the others', async (t) => {
  const { a, b } = await openTwoGateways(t);
  assert.equal(a.requests.take('acme.ci', rate), 0);
  await waitForSync(t);
  for (const limits of [a, b]) assert.equal(limits.requests.getRemaining('acme.ci', rate), 2, 'each count applies once on both replicas');
  assert.equal(a.requests.takeRemaining('acme.ci', rate, 3), 0);
  await waitForSync(t);
  assert.ok(b.requests.take('acme.ci', rate) > 0);
  assert.equal(b.requests.take('acme.other', rate), 0, 'another client has its own window');
});

test('a client that used several replicas at once is limited on all, and refused requests are not sent', async (t) => {
  const { a, b } = await openTwoGateways(t);
  for (const limits of [a, b])
    for (let n = 0; n < 2; n++) assert.equal(limits.requests.take('acme.ci', rate), 0, 'each replica accepts them');
  await waitForSync(t);
  for (const limits of [a, b]) for (let n = 0; n < 5; n++) assert.ok(limits.requests.take('acme.ci', rate) > 0);
  await waitForSync(t);
  for (const limits of [a, b]) assert.equal(limits.requests.getRemaining('acme.ci', { ...rate, max: 10 }), 6);
});

test('failed authentications of an address count on every replica', async (t) => {
  const { a, b } = await openTwoGateways(t);
  for (let n = 0; n < authFailures.max; n++) a.authFailures.take('192.0.2.1', authFailures);
  await waitForSync(t);
  assert.ok(b.authFailures.take('192.0.2.1', authFailures) > 0);
});

test('sends no message without counts, and splits many keys over several messages', async (t) => {
  const { a, b, bus } = await openTwoGateways(t);
  const keyCounts: number[] = [];
  bus.subscribe(subjects.counted, ({ data }) => {
    keyCounts.push(Object.keys((JSON.parse(Buffer.from(data).toString()) as { requests: object }).requests).length);
  });
  await waitForSync(t);
  assert.deepEqual(keyCounts, []);
  for (let n = 0; n < 1_500; n++) a.requests.take(`192.0.2.${n}`, rate);
  for (let part = 0; part < 4; part++) await waitForSync(t);
  assert.deepEqual(keyCounts, [500, 500, 500]);
  assert.equal(b.requests.size, 1_500);
});
