import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Handler } from '@switchyard/bus';
import { OBJECT_SECTIONS, secrets, ServiceError, sessions, type Input } from '@switchyard/contracts';
import { principal, resolveSecrets, startUpstream, testService, type TestService, type TestServiceOptions } from '@switchyard/testkit';
import { startService } from '@switchyard/service-kit';
import { createLogger, type Logger } from '@switchyard/telemetry';
import { registry } from './service.ts';

type Keys = Record<string, string>;

type Spend = Handler<'budgets.spend'>;
/** Budgets that allow everything. */
const rich: Spend = ({ tokens, costUsd = 0 }) => ({ tokens, costUsd });

/** The registry with stand-ins for secrets and budgets. */
function start(keys: Keys, options: TestServiceOptions & { spend?: Spend } = {}): Promise<TestService> {
  const { spend = rich, ...more } = options;
  return testService(registry, {
    as: principal({ scopes: ['*'] }),
    prepare: async (host) => {
      const bus = await host.connect('secrets');
      await bus.serve(secrets, { 'secrets.resolve': resolveSecrets(keys) }, { version: '0.0.0' });
      await (await host.connect('sessions')).serve(sessions, { 'budgets.spend': spend }, { version: '0.0.0' });
    },
    ...more,
  });
}

/** A logger whose lines can be awaited. */
function keptLog(): { log: Logger; line: (msg: string) => Promise<Record<string, unknown>> } {
  const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
  let expected = '';
  const lines: Record<string, unknown>[] = [];
  const look = (): void => lines.filter(({ msg }) => msg === expected).forEach(resolve);
  const write = (line: string): void => {
    lines.push(JSON.parse(line) as Record<string, unknown>);
    look();
  };
  const line = (msg: string): typeof promise => {
    expected = msg;
    look();
    return promise;
  };
  return { log: createLogger({ level: 'info', destination: { write } }), line };
}

function entry(url: string): object {
  return { type: 'openai-compatible', baseUrl: url, apiKeyName: 'LOCAL_KEY', maxRetries: 0, models: [{ id: 'small' }] };
}

test('without a key the development models answer, also without a secrets service', async () => {
  for (const app of [await start({}), await testService(registry, { as: principal() })]) {
    await using _ = app;
    const { models } = await app.bus.call('models.visible', {});
    assert.deepEqual(
      models.map(({ id }) => id),
      ['default', 'dev/echo', 'dev/scripted', 'dev/tools', 'dev/slow', 'dev/flaky'],
    );
    assert.deepEqual(await app.bus.call('agents.visible', {}), {
      agents: [{ id: 'default', name: 'Switchyard', provider: 'dev', model: 'echo', status: 'active' }],
    });
    const tested = await app.bus.call('models.test', { model: 'dev/echo' });
    assert.deepEqual({ ...tested, latencyMs: 0 }, { ok: true, latencyMs: 0, provider: 'dev' });
  }
});

test('with a key the models of agents are visible, and development models only if requested', async () => {
  await using upstream = await startUpstream();
  const entries = { local: entry(upstream.url) };
  for (const dev of [false, true]) {
    await using app = await start({ LOCAL_KEY: 'k' }, { settings: { providers: { entries }, models: { dev } } });
    await app.bus.call('agents.create', { name: 'oslo', provider: 'local', model: 'small' });

    const ids = (await app.bus.call('models.visible', {})).models.map(({ id }) => id);
    assert.deepEqual(ids.slice(0, 3), ['default', 'oslo', 'local/small']);
    assert.equal(ids.includes('dev/echo'), dev);
  }
});

test('lists the catalogue, filtered by provider', async () => {
  await using app = await start({ OPENAI_API_KEY: 'k' });

  const all = await app.bus.call('models.list', {});
  const openai = await app.bus.call('models.list', { provider: 'openai' });
  assert.ok(openai.length > 0 && openai.length < all.length);
  assert.ok(openai.every(({ provider, cost }) => provider === 'openai' && cost.input > 0));
  const { providers, count } = await app.bus.call('models.list_providers', {});
  assert.equal(count, providers.length);
  assert.ok(providers.includes('openai') && providers.includes('anthropic') && !providers.includes('dev'));
});

test('models.list shows another tenant the models that its agents may use, and no other', async () => {
  await using upstream = await startUpstream();
  await using app = await start({ LOCAL_KEY: 'k' }, { settings: { providers: { entries: { local: entry(upstream.url) } } } });
  const elsewhere = app.bus.as(principal({ tenant: 'b', scopes: ['*'] }));
  await elsewhere.call('agents.create', { name: 'oslo', provider: 'local', model: 'small' });
  const usable = new Set((await elsewhere.call('models.visible', {})).models.map(({ id }) => id));
  const own = await elsewhere.call('models.list', {});
  assert.ok(own.some(({ provider, modelId }) => `${provider}/${modelId}` === 'local/small'));
  assert.ok(own.every(({ provider, modelId }) => usable.has(`${provider}/${modelId}`)));
  assert.ok((await app.bus.call('models.list', { provider: 'openai' })).length > 0);
  assert.deepEqual(await elsewhere.call('models.list', { provider: 'openai' }), []);
  const { providers } = await elsewhere.call('models.list_providers', {});
  assert.deepEqual([providers.includes('local'), providers.includes('openai')], [true, false]);
});

test('models.embed uses the requested or the configured provider and reports the cost', async () => {
  const body = { data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 7 } };
  await using upstream = await startUpstream({ kind: 'answer', body });
  const cost = { input: 2, output: 0, cacheRead: 0, cacheWrite: 0 };
  const local = { ...entry(upstream.url), models: [{ id: 'small', cost }] };
  const settings = (embedding: object) => ({ settings: { providers: { entries: { local } }, embedding } });
  await using app = await start({ LOCAL_KEY: 'k' }, settings({}));

  const received = app.nextEvent('observability:token_usage');
  const { vectors, model } = await app.bus.call('models.embed', { model: 'small', input: ['hello'] });
  assert.deepEqual([vectors, model], [[Buffer.from(Float32Array.of(1, 2).buffer).toString('base64')], 'small']);
  const { provider, tokens, cost: paid, agentId } = await received;
  assert.deepEqual([provider, tokens, agentId], ['local', { prompt: 7, completion: 0, total: 7 }, 'default']);
  assert.ok(Math.abs(paid.total - 14e-6) < 1e-12);

  const refused = { code: 'NOT_FOUND', message: 'No embedding provider configured' };
  for (const embedding of [{ enabled: false }, { provider: 'openai' }, { provider: 'local' }]) {
    await using other = await start({ LOCAL_KEY: 'k' }, settings(embedding));
    await assert.rejects(other.bus.call('models.embed', { model: 'whatever', input: ['x'] }), refused);
  }
});

test('models.embed reserves the estimate before the call, adds the rest after it, and fails without budget', async () => {
  const body = { data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 7 } };
  await using upstream = await startUpstream({ kind: 'answer', body });
  const cost = { input: 2, output: 0, cacheRead: 0, cacheWrite: 0 };
  const local = { ...entry(upstream.url), models: [{ id: 'small', cost }] };
  const received = Promise.withResolvers<void>();
  const counted: Input<'budgets.spend'>[] = [];
  let remaining = 5;
  const spend: Spend = (request) => {
    counted.push(request);
    if (request.late) received.resolve();
    if (remaining <= 0)
      throw new ServiceError('RESOURCE_EXHAUSTED', 'used up', { details: { reason: 'BUDGET_EXCEEDED', retryAfterMs: 9 } });
    remaining -= request.tokens;
    return { tokens: request.tokens, costUsd: request.costUsd ?? 2e-6 };
  };
  await using app = await start({ LOCAL_KEY: 'k' }, { settings: { providers: { entries: { local } } }, spend });
  const usage = app.nextEvent('observability:token_usage');
  await app.bus.call('models.embed', { model: 'small', input: ['hello'], agentId: 'oslo' });
  await received.promise;
  assert.equal((await usage).agentId, 'oslo');
  const about = { provider: 'local', modelId: 'small', agentId: 'oslo' };
  const [before, after] = counted;
  assert.deepEqual(before, { ...about, tokens: 2 });
  assert.deepEqual({ ...after, costUsd: Math.round((after?.costUsd ?? 0) * 1e6) }, { ...about, tokens: 5, costUsd: 12, late: true });
  await assert.rejects(app.bus.call('models.embed', { model: 'small', input: ['hello'] }), { code: 'RESOURCE_EXHAUSTED' });
  assert.equal(upstream.requests.length, 1, 'the provider is not called');
});

test('models.test returns the reason of a failure', async () => {
  await using upstream = await startUpstream(
    { kind: 'text', text: 'pong' },
    { kind: 'status', status: 401 },
    { kind: 'status', status: 500 },
  );
  const keys: Keys = { LOCAL_KEY: 'sk-secret-0123456789' };
  await using app = await start(keys, { settings: { providers: { entries: { local: entry(upstream.url) } } } });

  assert.equal((await app.bus.call('models.test', { provider: 'local', model: 'small' })).ok, true);
  assert.equal((await app.bus.call('models.list', { provider: 'local' }))[0]?.validated, true);
  const refused = await app.bus.call('models.test', { model: 'local/small' });
  assert.deepEqual([refused.ok, refused.error], [false, 'provider local refused the key LOCAL_KEY']);
  assert.match((await app.bus.call('models.test', { model: 'small' })).error ?? '', /failed \(500\)/);
  const keyless = await app.bus.call('models.test', { model: 'gpt-5' });
  assert.deepEqual([keyless.ok, keyless.provider], [false, 'openai']);
  assert.match(keyless.error ?? '', /set the secret OPENAI_API_KEY/);
});

test('models.test returns a result for an unknown model or provider', async () => {
  await using app = await start({});
  const unknown = { ok: false, latencyMs: 0 };
  const requests = [
    [{ model: 'no-such-model' }, { provider: '', error: 'no provider has the model no-such-model' }],
    [{ model: 'nowhere/small' }, { provider: 'nowhere', error: 'no provider has the model nowhere/small' }],
    [
      { model: 'small', provider: 'nowhere' },
      { provider: 'nowhere', error: 'no provider has the model nowhere/small' },
    ],
  ] as const;
  for (const [params, content] of requests) assert.deepEqual(await app.bus.call('models.test', params), { ...unknown, ...content });
});

test('agents.update rejects a provider that rejects its key, and accepts an unreachable one', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 401 }, { kind: 'status', status: 500 });
  await using app = await start({ LOCAL_KEY: 'k' }, { settings: { providers: { entries: { local: entry(upstream.url) } } } });

  const create = () => app.bus.call('agents.create', { name: 'oslo', provider: 'local', model: 'small' });
  await assert.rejects(create(), { code: 'FAILED_PRECONDITION', message: /refused the key LOCAL_KEY/ });
  assert.equal((await create()).agentId, 'oslo');
  assert.equal(upstream.requests[0]?.body['max_tokens'], 1);
});

test('rejects a failover profile whose secret is not set', async () => {
  await using app = await start({ SECOND_KEY: 'k' });
  const update = (keyName: string) =>
    app.bus.call('agents.update', { agentId: 'default', modelFailover: { authProfiles: [{ keyName, provider: 'openai' }] } });

  await assert.rejects(update('NO_KEY'), { code: 'FAILED_PRECONDITION', message: /the secret NO_KEY is not set/ });
  assert.ok(await update('SECOND_KEY'));
});

test('only the tenant of the installation may set fields that name its secrets', async () => {
  await using app = await start({ SECOND_KEY: 'k' });
  const elsewhere = app.bus.as(principal({ tenant: 'b' }));
  await elsewhere.call('agents.create', { name: 'oslo' });
  for (const change of [
    { modelFailover: { authProfiles: [{ keyName: 'SECOND_KEY', provider: 'openai' }] } },
    { oauthProfiles: { openai: 'work' } },
    { secrets: { allow: ['SECOND_*'] } },
  ]) {
    const refused = { code: 'PERMISSION_DENIED', details: { reason: 'OTHER_TENANT' } };
    await assert.rejects(elsewhere.call('agents.update', { agentId: 'oslo', ...change }), refused, JSON.stringify(change));
    await assert.rejects(elsewhere.call('agents.create', { name: 'rome', ...change }), refused, JSON.stringify(change));
  }
  assert.ok(await elsewhere.call('agents.update', { agentId: 'oslo', modelFailover: { maxAttempts: 2 } }));
});

test('gateway.status lists settings that no service reads', async () => {
  await using app = await start({}, { settings: { autoReplyEngine: { enabled: false }, sendPolicy: { enabled: false } } });
  const { notInForce } = await app.bus.call('gateway.status', {});
  assert.deepEqual(
    notInForce?.map(({ path }) => path),
    ['autoReplyEngine.enabled', 'sendPolicy.enabled'],
  );
});

test('gateway.status tells administrators of other tenants nothing of the machine', async () => {
  await using app = await start({}, { settings: { autoReplyEngine: { enabled: false } } });
  const {
    uptime: _uptime,
    memoryUsage: _memory,
    nodeVersion: _version,
    ...status
  } = await app.bus.as(principal({ tenant: 'b' })).call('gateway.status', {});
  assert.deepEqual(status, { pid: 0, configPaths: [], sections: ['agents'], notInForce: [] });
});

test('gateway.status describes the process', async () => {
  await using app = await start({});

  const status = await app.bus.call('gateway.status', {});
  assert.equal(status.pid, process.pid);
  assert.equal(status.nodeVersion, process.version);
  assert.ok(status.uptime > 0 && status.memoryUsage > 1_000_000);
  assert.deepEqual(status.configPaths, []);
  assert.deepEqual(status.sections, OBJECT_SECTIONS);
  assert.ok(!status.sections.includes('logLevel'), 'a root key is not a section');
});

test('emits model:catalog_loaded at startup and after a change of the catalogue', async () => {
  await using app = await start({});
  const first = await app.nextEvent('model:catalog_loaded');
  const catalogue = await app.bus.call('models.list', {});
  assert.deepEqual([first.modelCount, first.providerCount], [catalogue.length, new Set(catalogue.map(({ provider }) => provider)).size]);
  const house = { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9', models: [{ id: 'small' }, { id: 'large' }] };
  await app.bus.call('config.patch', { providers: { entries: { house } }, models: { dev: true } });
  const second = await app.nextEvent('model:catalog_loaded');
  assert.deepEqual([second.modelCount, second.providerCount], [first.modelCount + 2, first.providerCount + 1]);
});

test('models.scanOnStartup tests each model of the agents once and shares the results', async () => {
  await using upstream = await startUpstream();
  await using silent = await startUpstream({ kind: 'stall' });
  const entries = { local: entry(upstream.url), mute: { ...entry(silent.url), models: [{ id: 'small' }] } };
  const agents = {
    default: { provider: 'local', model: 'small', modelFailover: { fallbackModels: [{ provider: 'mute', modelId: 'small' }] } },
  };
  const logs = keptLog();
  const settings = { providers: { entries }, agents, models: { scanOnStartup: true, scanTimeoutMs: 500 } };
  await using app = await start({ LOCAL_KEY: 'k' }, { settings, log: logs.log });
  const { answered, silent: mute, notAsked } = await logs.line('the models of agents were tested');
  assert.deepEqual([answered, mute, notAsked], [['local/small'], [], []], 'the scan stops at its timeout');
  assert.equal(upstream.requests.length, 1);
  await using _second = await startService(registry, app.host);
  for (let n = 0; n < 4; n += 1) {
    const [known] = await app.bus.call('models.list', { provider: 'local' });
    assert.deepEqual([known?.validated, typeof known?.validatedAt], [true, 'number']);
  }
  await app.bus.call('config.set', { section: 'providers', key: 'entries.local.baseUrl', value: silent.url });
  assert.equal((await app.bus.call('models.list', { provider: 'local' }))[0]?.validated, false, 'another address has not been validated');
});

test('config.patch and its dry run reject an unavailable model as agents.update does', async () => {
  await using app = await start({});
  const patch = { agents: { default: { provider: 'nobody', model: 'x' } } };
  const refused = { code: 'FAILED_PRECONDITION', details: { reason: 'PROVIDER_NOT_FOUND' } };
  await assert.rejects(app.bus.call('config.patch', patch), refused);
  await assert.rejects(app.bus.call('config.set', { section: 'agents', key: 'default.provider', value: 'nobody' }), refused);
  const dry = await app.bus.call('config.patch', { ...patch, dryRun: true });
  assert.match(JSON.stringify(dry), /nobody is not available/);
  await app.bus.call('config.patch', { agents: { default: { provider: 'dev', model: 'echo' } } });
});
