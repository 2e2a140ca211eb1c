import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, ServiceError } from '@switchyard/contracts';
import { startUpstream, type Upstream, type UpstreamBehaviour } from '@switchyard/testkit';
import { open, request } from '../models.fixture.ts';
import { createFailover } from './create-failover.ts';
import type { FailoverEvent } from './failover.ts';

const DOWN: UpstreamBehaviour = { kind: 'status', status: 500, message: 'out of order' };
const YES: UpstreamBehaviour = { kind: 'text', text: 'yes' };
const FIRST = { provider: 'first', modelId: 'm1' };
const SECOND = { provider: 'second', modelId: 'm2' };
const CHAIN = { modelFailover: { fallbackModels: [SECOND] } };
const ONCE = { sdkRetry: { enabled: false } };

interface Setup {
  first: UpstreamBehaviour[];
  second?: UpstreamBehaviour[];
}

/** Sets up two providers, an agent with failover, published events and a clock. */
async function house({ first, second = [YES] }: Setup) {
  const stack = new AsyncDisposableStack();
  const upstreams = { first: stack.use(await startUpstream(...first)), second: stack.use(await startUpstream(...second)) };
  const entry = ({ url }: Upstream) => ({ type: 'openai-compatible', baseUrl: url });
  const secrets: Record<string, string> = { ONE_API_KEY: 'sk-one', TWO_API_KEY: 'sk-two', FIRST_WORK_OAUTH_TOKEN: 'signed-in' };
  const models = open({
    entries: { first: entry(upstreams.first), second: entry(upstreams.second) },
    secret: async (name) => secrets[name] ?? null,
  });
  const told: FailoverEvent[] = [];
  let now = 0;
  const failover = createFailover({ models, now: () => now, publish: (_tenant, event) => void told.push(event) });
  return {
    ...upstreams,
    failover,
    move: (ms: number) => void (now += ms),
    /** Takes the names of events published since the last call. */
    told: (): string[] => told.splice(0).map(({ name }) => name),
    events: told,
    as(config: object, agentId = 'oslo', client?: string) {
      const asker = failover.forAgent({ tenant: 'default', agentId, client, config: AgentConfig.parse(config) });
      return {
        asker,
        /** The streamed text and the end of the call. */
        async ask(rest: object = {}): Promise<string> {
          let said = '';
          try {
            const end = await asker.streamTo(request({ model: FIRST, ...rest }), (text, type) => {
              if (type === 'text') said += text;
              return true;
            });
            return `${said} (${end?.model?.provider})`;
          } catch (error) {
            assert.ok(error instanceof ServiceError);
            return `${said}!${error.details.reason}`;
          }
        },
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test('calls the next model of the chain when one fails before sending text', async () => {
  await using at = await house({ first: [DOWN] });
  const { ask, asker } = at.as(CHAIN);
  assert.equal(await ask(), 'yes (second)');
  assert.deepEqual(at.events[0], {
    name: 'model:fallback_attempt',
    payload: {
      fromProvider: 'first',
      fromModel: 'm1',
      toProvider: 'second',
      toModel: 'm2',
      error: 'provider first failed (500): out of order',
      attemptNumber: 1,
      timestamp: at.events[0]?.payload.timestamp,
    },
  });
  assert.deepEqual((await asker.complete(request({ model: FIRST }))).model, SECOND);
  assert.deepEqual([at.first.requests.length, at.second.requests.length], [2, 2]);
});

test('calls no other model after text was sent', async () => {
  await using at = await house({ first: [{ kind: 'cut', text: 'one two three', afterTokens: 2 }] });
  assert.match(await at.as(CHAIN).ask(), /^one two ?!STREAM_CUT$/);
  assert.deepEqual([at.second.requests.length, at.told()], [0, []]);
});

test('calls no other model for an invalid request', async () => {
  await using at = await house({ first: [{ kind: 'status', status: 400 }] });
  assert.equal(await at.as(CHAIN).ask(), '!PROVIDER_REJECTED');
  assert.equal(at.second.requests.length, 0);
});

test('retries only the last model and publishes model:fallback_exhausted', async () => {
  await using at = await house({ first: [DOWN], second: [DOWN] });
  assert.equal(await at.as({ ...CHAIN, sdkRetry: { maxRetries: 1, baseDelayMs: 1 } }).ask(), '!PROVIDER_UNAVAILABLE');
  assert.deepEqual([at.first.requests.length, at.second.requests.length], [1, 2]);
  assert.deepEqual(at.told(), ['model:fallback_attempt', 'model:fallback_exhausted']);
  assert.equal(await at.as({ ...CHAIN, sdkRetry: { enabled: false } }, 'other').ask(), '!PROVIDER_UNAVAILABLE');
  assert.equal(at.second.requests.length, 3);
  const began = performance.now();
  assert.equal(await at.as({ sdkRetry: { maxRetries: 1, baseDelayMs: 200 } }, 'third').ask(), '!PROVIDER_UNAVAILABLE');
  assert.ok(performance.now() - began >= 100, 'half a pause at least');
});

test('respects maxAttempts and allowedModels', async () => {
  await using at = await house({ first: [DOWN], second: [DOWN] });
  const chain = {
    fallbackModels: [
      { provider: 'second', modelId: 'a' },
      { provider: 'second', modelId: 'b' },
    ],
  };
  await at.as({ modelFailover: { ...chain, maxAttempts: 2 }, ...ONCE }).ask();
  assert.equal(at.second.requests.length, 1);
  await at.as({ modelFailover: { ...chain, allowedModels: ['second/b'] }, ...ONCE }, 'other').ask();
  assert.deepEqual([at.first.requests.length, at.second.requests.length], [1, 2]);
  assert.equal(await at.as({ modelFailover: { allowedModels: ['gone'] } }, 'third').ask(), '!MODEL_NOT_ALLOWED');
});

test('uses retryPromptTimeoutMs for fallback models', async () => {
  await using at = await house({ first: [DOWN], second: [{ kind: 'stall' }] });
  const began = performance.now();
  const config = { ...CHAIN, ...ONCE, promptTimeout: { retryPromptTimeoutMs: 60 } };
  assert.equal(await at.as(config).ask({ promptTimeoutMs: 5_000 }), '!MODEL_STALLED');
  assert.ok(performance.now() - began < 4_000);
});

test('opens the circuit breaker after repeated failures and lets one probe through', async () => {
  await using at = await house({ first: [DOWN, DOWN, DOWN, YES] });
  const { ask } = at.as({ ...ONCE, circuitBreaker: { failureThreshold: 2, resetTimeoutMs: 1_000, halfOpenTimeoutMs: 500 } });
  for (const said of ['!PROVIDER_UNAVAILABLE', '!PROVIDER_UNAVAILABLE', '!CIRCUIT_OPEN']) assert.equal(await ask(), said);
  assert.equal(at.first.requests.length, 2);
  at.move(1_000);
  // One of two concurrent calls is the probe. It fails, and the breaker stays open for another period.
  assert.deepEqual((await Promise.all([ask(), ask()])).toSorted(), ['!CIRCUIT_OPEN', '!PROVIDER_UNAVAILABLE']);
  at.move(999);
  assert.equal(await ask(), '!CIRCUIT_OPEN');
  at.move(1);
  assert.equal(await ask(), 'yes (first)');
  assert.deepEqual(await Promise.all([ask(), ask()]), ['yes (first)', 'yes (first)']);
});

test('a refusal of a request does not count, whichever client sends it', async () => {
  const refusals = [400, 404, 413, 422].map((status) => ({ kind: 'status' as const, status, message: 'no' }));
  await using at = await house({ first: [...refusals, YES] });
  const { ask } = at.as({ ...ONCE, circuitBreaker: { failureThreshold: 1 } }, 'oslo', 'ann');
  for (const _ of refusals) assert.match(await ask(), /^!(PROVIDER_REJECTED|MODEL_NOT_FOUND)$/);
  assert.equal(await ask(), 'yes (first)');
});

test('failures that the request of a client may cause close the model to this client only', async () => {
  const cut: UpstreamBehaviour = { kind: 'cut', text: 'one two', afterTokens: 0 };
  await using at = await house({ first: [cut, YES] });
  const config = { ...ONCE, circuitBreaker: { failureThreshold: 1, resetTimeoutMs: 1_000 } };
  const [ann, bob] = [at.as(config, 'oslo', 'ann'), at.as(config, 'oslo', 'bob')];
  assert.equal(await ann.ask(), '!STREAM_CUT');
  assert.equal(await ann.ask(), '!CIRCUIT_OPEN');
  assert.equal(await bob.ask(), 'yes (first)');
  assert.equal(await ann.ask(), '!CIRCUIT_OPEN', 'the success of another client does not close it');
  at.move(1_000);
  assert.equal(await ann.ask(), 'yes (first)');
});

test('a provider that is down closes the model to all clients, and the error says why and for how long', async () => {
  await using at = await house({ first: [DOWN] });
  const config = { ...ONCE, circuitBreaker: { failureThreshold: 1, resetTimeoutMs: 1_000 } };
  assert.equal(await at.as(config, 'oslo', 'ann').ask(), '!PROVIDER_UNAVAILABLE');
  const { asker } = at.as(config, 'oslo', 'bob');
  await assert.rejects(asker.complete(request({ model: FIRST })), ({ message, details }: ServiceError) => {
    assert.match(message, /^The circuit breaker of the model first\/m1 of the agent oslo is open after repeated failures: .*out of order/);
    assert.deepEqual([details.reason, details['cause'], details.retryAfterMs], ['CIRCUIT_OPEN', 'PROVIDER_UNAVAILABLE', 1_000]);
    return true;
  });
});

test('lets another probe through after halfOpenTimeoutMs', async () => {
  await using at = await house({ first: [DOWN, { kind: 'stall' }, YES] });
  const { ask } = at.as({ ...ONCE, circuitBreaker: { failureThreshold: 1, resetTimeoutMs: 1_000, halfOpenTimeoutMs: 500 } });
  assert.equal(await ask(), '!PROVIDER_UNAVAILABLE');
  at.move(1_000);
  const leaving = new AbortController();
  const probe = ask({ signal: leaving.signal });
  assert.equal(await ask(), '!CIRCUIT_OPEN');
  at.move(500);
  assert.equal(await ask(), 'yes (first)');
  leaving.abort();
  await probe;
});

test('skips models with an open breaker, per agent', async () => {
  await using at = await house({ first: [DOWN] });
  const breaker = { circuitBreaker: { failureThreshold: 1 } };
  const { ask } = at.as({ ...CHAIN, ...breaker });
  assert.equal(await ask(), 'yes (second)');
  assert.equal(await ask(), 'yes (second)');
  assert.equal(at.first.requests.length, 1);
  await at.as({ ...CHAIN, ...breaker }, 'other').ask();
  assert.equal(at.first.requests.length, 2);
});

test('degrades a provider that fails for two agents and recovers with its first response', async () => {
  await using at = await house({ first: [DOWN, DOWN, YES] });
  const [one, two] = [at.as(CHAIN, 'one'), at.as(CHAIN, 'two')];
  await one.ask();
  await two.ask();
  assert.deepEqual(at.told(), ['model:fallback_attempt', 'provider:degraded', 'model:fallback_attempt']);
  assert.equal(await one.ask(), 'yes (second)');
  assert.equal(at.first.requests.length, 2);
  at.move(60_000);
  assert.equal(await one.ask(), 'yes (first)');
  assert.deepEqual(at.told(), ['provider:recovered']);
});

test('degrades a provider after three recent failures of one agent', async () => {
  await using at = await house({ first: [DOWN] });
  const { ask } = at.as(ONCE);
  await ask();
  at.move(60_000);
  await ask();
  await ask();
  assert.deepEqual(at.told(), []);
  await ask();
  assert.deepEqual(at.told(), ['provider:degraded']);
  // No other provider is configured, so the degraded one is called.
  assert.equal(await ask(), '!PROVIDER_UNAVAILABLE');
});

test('includes the last failure in the CIRCUIT_OPEN error', async () => {
  await using at = await house({ first: [DOWN] });
  const { ask, asker } = at.as({ ...ONCE, circuitBreaker: { failureThreshold: 1 } });
  await ask();
  await assert.rejects(asker.complete(request({ model: FIRST })), /first\/m1 of the agent oslo is open.*failed \(500\): out of order/);
});

test('does not open the breaker for a rejected key', async () => {
  await using at = await house({ first: [{ kind: 'status', status: 401 }, { kind: 'status', status: 401 }, YES] });
  const { ask } = at.as({ ...ONCE, circuitBreaker: { failureThreshold: 1 } });
  for (const said of ['!PROVIDER_AUTH', '!PROVIDER_AUTH', 'yes (first)']) assert.equal(await ask(), said);
});

test('cools down rejected keys with growing delays and prefers the last working key', async () => {
  const refused: UpstreamBehaviour = { kind: 'status', status: 401 };
  await using at = await house({ first: [refused, YES, refused, YES, YES] });
  const authProfiles = ['ONE_API_KEY', 'TWO_API_KEY'].map((keyName) => ({ keyName, provider: 'first' }));
  const { ask } = at.as({
    ...ONCE,
    modelFailover: { authProfiles, cooldownInitialMs: 1_000, cooldownMultiplier: 5, cooldownCapMs: 3_000 },
  });
  const used = (): unknown[] => at.first.requests.slice(-2).map(({ headers }) => headers.authorization);
  assert.equal(await ask(), 'yes (first)');
  assert.deepEqual(used(), ['Bearer sk-one', 'Bearer sk-two']);
  const [{ payload } = assert.fail('nothing told')] = at.events.splice(0);
  assert.deepEqual(payload, {
    provider: 'first',
    keyName: 'ONE_API_KEY',
    cooldownMs: 1_000,
    failureCount: 1,
    timestamp: payload.timestamp,
  });
  at.move(1_000);
  assert.equal(await ask(), 'yes (first)');
  assert.deepEqual(used(), ['Bearer sk-two', 'Bearer sk-one']);
  assert.deepEqual(at.told(), ['model:auth_cooldown']);
});

test('uses the OAuth profile of an agent before its keys', async () => {
  const refused: UpstreamBehaviour = { kind: 'status', status: 401 };
  await using at = await house({ first: [YES, YES, refused, YES, YES] });
  const used = (): unknown => at.first.requests.at(-1)?.headers.authorization;
  const oauthProfiles = { first: 'work', other: 'home' };
  assert.equal(await at.as({ oauthProfiles }).ask(), 'yes (first)');
  assert.equal(used(), 'Bearer signed-in');
  assert.equal(await at.as({}, 'bergen').ask(), 'yes (first)');
  assert.equal(used(), undefined);
  const authProfiles = [{ keyName: 'ONE_API_KEY', provider: 'first' }];
  const both = at.as({ ...ONCE, oauthProfiles, modelFailover: { authProfiles } });
  assert.equal(await both.ask(), 'yes (first)');
  assert.equal(used(), 'Bearer sk-one');
  at.failover.clearKeyCooldowns();
  assert.equal(await both.ask(), 'yes (first)');
  assert.equal(used(), 'Bearer signed-in');
});
