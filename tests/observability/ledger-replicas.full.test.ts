// alone: thousands of model calls through three processes need both cores
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { media, registry, secrets, type Result } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { principal, startMongo, startNatsServer, testService, type TestService } from '@switchyard/testkit';
import { startLedgerModel } from '../../services/sessions/src/ledger-model.fixture.ts';
import { defineSessions } from '../../services/sessions/src/service.ts';
import { putAgent } from '../../services/sessions/src/sessions.fixture.ts';
import { replayLog, startReplicas, watchIngest, wipeLog, type Servers } from './observability-replicas.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
/** Number of model calls. A quiet machine with two cores makes about 120 a second. */
const CALLS = Number(process.env['SWITCHYARD_TEST_CALLS'] ?? 3_000);
const TIMEOUT_MS = 200_000 + CALLS * 20;
const KILLS = 10;
const REPLICAS = 2;
const PARALLEL = 16;
const SESSIONS = 2_000;
const READS = 20;
const POLL_MS = 100;
/** Time between two reads of the sums while the ingest catches up, so that reading does not slow it. */
const BILLING_POLL_MS = 2_000;
/** Time until a killed replica answers. */
const RESTART_MS = 90_000;
/** The test fails when the ingest has not progressed for this long. */
const STALL_MS = 60_000;
/** USD per million tokens, so that the cost of a token is an integer of 10⁻¹² USD. */
const PRICE = { input: 1.25, output: 10 };
const PICO_PER_TOKEN = 1_000_000;
const PICO_PER_USD = 1e12;

/** Starts sessions with an agent of this model; prices are those that registry would return. */
function startSessions({ bus }: Servers, url: string): Promise<TestService> {
  const models = [{ id: 'm', cost: PRICE }];
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: url, models } };
  const agent = { provider: 'local', model: 'm', concurrency: { maxConcurrentRuns: PARALLEL }, sdkRetry: { maxRetries: 0 } };
  return testService(defineSessions({}), {
    as: principal({ scopes: ['*'] }),
    env: { SWITCHYARD_BUS: bus },
    settings: { providers: { entries }, queue: { maxConcurrentSessions: PARALLEL } },
    async prepare(host) {
      const prices = [{ model: 'local/m', ...PRICE, cacheRead: 0, cacheWrite: 0 }];
      await (await host.connect('secrets')).serve(secrets, { 'secrets.resolve': () => ({ value: null }) }, { version: '0.0.0' });
      await (await host.connect('media')).serve(media, { 'media.usage.list': () => ({ entries: [] }) }, { version: '0.0.0' });
      await (await host.connect('registry')).serve(registry, { 'models.prices': () => ({ prices }) }, { version: '0.0.0' });
      await putAgent(host.bus, 'default', { config: agent });
    },
  });
}

/**
 * Every second call is a turn of a session, the others are stateless. Some are refused, some answers have no usage, and any may fail on a
 * busy machine: it is billed like the others.
 */
async function callModel({ bus }: TestService, n: number): Promise<void> {
  const message = ['hello', 'hello', 'refuse', 'silent', 'hello', 'hello', 'hello'][n % 7] ?? 'hello';
  const call =
    n % 2 === 0
      ? bus.call('agent.execute', { message, sessionKey: { channelId: `channel-${n % SESSIONS}` } })
      : bus.call('turns.complete', { turnId: mintId('turn'), model: 'default', message });
  await call.catch(() => undefined);
}

type Total = Result<'obs.billing.total'>;

/** Asks again while a killed replica is restarted. */
async function readTotal({ bus }: TestService): Promise<Total> {
  for (const deadline = performance.now() + RESTART_MS; ;) {
    try {
      return await bus.call('obs.billing.total', {});
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
  }
}

test(
  `billing equals the ledger of the provider after ${CALLS} calls with kills, a lost log and replays`,
  {
    skip: NATS_OFF,
    timeout: TIMEOUT_MS,
  },
  async (t) => {
    await using stack = new AsyncDisposableStack();
    const [mongo, nats] = await Promise.all([startMongo(), startNatsServer()]);
    stack.defer(() => mongo.stop());
    stack.defer(() => nats.stop());
    const servers = { bus: nats.url, store: mongo.url };
    const model = stack.use(await startLedgerModel());
    const app = stack.use(await startSessions(servers, model.url));
    const replicas = stack.use(await startReplicas(servers, REPLICAS));

    const started = performance.now();
    let next = 0;
    const clients = Array.from({ length: PARALLEL }, async () => {
      while (next < CALLS) await callModel(app, next++);
    });
    const faults = (async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        while (next < ((kill + 0.5) * CALLS) / KILLS) await sleep(POLL_MS);
        await replicas.kill(kill % REPLICAS);
        if (kill === Math.floor(KILLS / 2)) await wipeLog(servers);
      }
    })();
    await Promise.all([...clients, faults]);
    t.diagnostic(`${CALLS} calls in ${Math.round((performance.now() - started) / 1_000)} s`);
    await replicas.ready();

    const { requests, answered } = model.ledger;
    assert.ok(answered.calls > CALLS / 2, `only ${answered.calls} calls were answered with a usage`);
    const pico = (answered.input * PRICE.input + answered.output * PRICE.output) * PICO_PER_TOKEN;
    const expected = {
      callCount: requests,
      unknownCalls: requests - answered.calls,
      totalTokens: answered.input + answered.output,
      totalCost: pico / PICO_PER_USD,
    };
    const read = async () => {
      const { callCount, unknownCalls, totalTokens, totalCost } = await readTotal(app);
      return { callCount, unknownCalls, totalTokens, totalCost };
    };
    const ended = performance.now();
    const ingest = stack.use(await watchIngest(servers));
    let progress = { key: '', at: performance.now() };
    for (;;) {
      const [state, { callCount }] = [await ingest.read(), await read()];
      const isCaughtUp = state.seq >= state.lastSeq && !state.isRecovering;
      if (isCaughtUp && callCount >= requests) break;
      // Without a lag only the arrival of further usage is progress.
      const key = `${callCount} ${isCaughtUp ? 'caught up' : state.seq}`;
      if (key !== progress.key) progress = { key, at: performance.now() };
      const hasStalled = performance.now() - progress.at > STALL_MS;
      assert.ok(!hasStalled, `${callCount} of ${requests} calls are billed, ${JSON.stringify(state)}`);
      await sleep(BILLING_POLL_MS);
    }
    t.diagnostic(`all calls were billed ${Math.round((performance.now() - ended) / 1_000)} s after the last call`);
    for (let n = 0; n < READS; n += 1) assert.deepEqual(await read(), expected, 'any replica answers the same');

    const replayed = performance.now();
    await replayLog(servers);
    for (let state = await ingest.read(); state.seq < state.lastSeq; state = await ingest.read()) await sleep(BILLING_POLL_MS);
    t.diagnostic(`the log was read again in ${Math.round((performance.now() - replayed) / 1_000)} s`);
    assert.deepEqual(await read(), expected, 'after a replay of the log');
    const { providers } = await app.bus.call('obs.billing.byProvider', {});
    assert.deepEqual(
      providers.map(({ provider, inputTokens, outputTokens, callCount }) => [provider, inputTokens, outputTokens, callCount]),
      [['local', answered.input, answered.output, requests]],
    );
    t.diagnostic(`ledger: ${JSON.stringify(expected)}`);
  },
);
