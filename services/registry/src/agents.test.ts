import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, AGENTS_BUCKET, AgentProjection, bucketKey, ServiceError, TOKENS_BUCKET } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { principal, startNatsServer, tempDir, testService, type TestService, type TestServiceOptions } from '@switchyard/testkit';
import { registry } from './service.ts';

function start(options: TestServiceOptions = {}): Promise<TestService> {
  return testService(registry, { as: principal({ scopes: ['*'] }), ...options });
}

async function projected(app: TestService, key: string): Promise<AgentProjection | undefined> {
  const entry = await (await app.bus.kv(AGENTS_BUCKET)).get(key);
  return entry?.value && AgentProjection.parse(JSON.parse(Buffer.from(entry.value).toString()));
}

/** The keys of all later writes to the bucket. */
async function watchWrites(app: TestService): Promise<string[]> {
  const writes: string[] = [];
  await (await app.bus.kv(AGENTS_BUCKET)).watch(({ key }) => writes.push(key));
  writes.length = 0;
  return writes;
}

async function catchError(call: Promise<unknown>): Promise<ServiceError> {
  return call.then(
    () => assert.fail('the call was not rejected'),
    (error: unknown) => (error instanceof ServiceError ? error : assert.fail(String(error))),
  );
}

test('the default agent exists from the start and cannot be deleted', async () => {
  await using app = await start();

  assert.deepEqual(await app.bus.call('agents.list', {}), { agents: ['default'] });
  const got = await app.bus.call('agents.get', { agentId: 'default' });
  assert.equal(got.isDefault, true);
  assert.equal(got.config['maxSteps'], 150);
  assert.equal((await projected(app, 'default.default'))?.isDefault, true);
  await assert.rejects(app.bus.call('agents.delete', { agentId: 'default' }), { code: 'FAILED_PRECONDITION' });
});

test('agents.create derives the id from the name, projects the agent and emits an event', async () => {
  await using app = await start();

  const created = await app.bus.call('agents.create', { name: 'Café  Oslo!', maxSteps: 7, workspacePath: '/etc' });

  assert.equal(created.agentId, 'cafe-oslo');
  assert.equal(created.config['name'], 'Café  Oslo!');
  assert.equal(created.config['maxSteps'], 7);
  assert.equal(created.config['workspacePath'], undefined);
  assert.equal((await projected(app, 'default.cafe-oslo'))?.config['maxSteps'], 7);
  assert.equal((await app.nextEvent('agent:hot_added')).agentId, 'cafe-oslo');
  assert.deepEqual((await app.bus.call('agents.list', {})).agents, ['cafe-oslo', 'default']);
});

test('rejects names that reach a prototype', async () => {
  await using app = await start();
  for (const key of ['__proto__', 'constructor', 'prototype']) {
    const skills = JSON.parse(`{"toolPolicy":{"${key}":{"allow":["a"]}}}`) as object;
    const queue = JSON.parse(`{"${key}":1}`) as Record<string, number>;
    for (const extraFields of [{ skills }, { cacheRetentionOverrides: queue }] as object[]) {
      assert.equal((await catchError(app.bus.call('agents.create', { name: 'oslo', ...extraFields }))).code, 'INVALID_ARGUMENT', key);
      assert.equal((await catchError(app.bus.call('agents.update', { agentId: 'default', ...extraFields }))).code, 'INVALID_ARGUMENT', key);
    }
  }
  assert.deepEqual((await app.bus.call('agents.list', {})).agents, ['default']);
});

test('a write reports the settings that no service reads yet', async () => {
  await using app = await start();

  const created = await app.bus.call('agents.create', {
    name: 'oslo',
    maxSteps: 7,
    notification: { maxPerHour: 4 },
    workspacePath: '/etc',
  });
  assert.deepEqual(created.notInForce, ['agents.oslo.notification.maxPerHour', 'agents.oslo.workspacePath']);

  const change = { skills: { toolPolicy: { deny: ['exec'] }, watchEnabled: false } };
  for (const dryRun of [true, false]) {
    const updated = await app.bus.call('agents.update', { agentId: 'oslo', ...change, dryRun });
    assert.deepEqual(updated.notInForce, ['agents.oslo.skills.watchEnabled']);
  }
  assert.equal('notInForce' in (await app.bus.call('agents.update', { agentId: 'oslo', maxSteps: 8 })), false);
});

test('rejects a name that is taken or gives no id', async () => {
  await using app = await start({ settings: { agents: { filed: {} } } });
  await app.bus.call('agents.create', { name: 'oslo' });

  for (const name of ['Oslo', 'default', 'filed']) {
    await assert.rejects(app.bus.call('agents.create', { name }), { code: 'ALREADY_EXISTS' });
  }
  await assert.rejects(app.bus.call('agents.create', { name: '!!!' }), { code: 'INVALID_ARGUMENT', message: /^Invalid params: name:/ });
});

test('one of two concurrent creations of an agent fails with ALREADY_EXISTS', async () => {
  await using app = await start();

  const calls = [1, 2, 3].map((maxSteps) => app.bus.call('agents.create', { name: 'oslo', maxSteps }));
  const outcomes = await Promise.allSettled(calls);

  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') assert.equal((outcome.reason as ServiceError).code, 'ALREADY_EXISTS');
  }
});

test('a deleted agent is removed from list and bucket and can be created again', async () => {
  await using app = await start();
  await app.bus.call('agents.create', { name: 'oslo', maxSteps: 7 });

  assert.deepEqual(await app.bus.call('agents.delete', { agentId: 'oslo' }), { agentId: 'oslo', deleted: true });

  assert.equal((await app.nextEvent('agent:hot_removed')).agentId, 'oslo');
  assert.deepEqual((await app.bus.call('agents.list', {})).agents, ['default']);
  assert.equal(await projected(app, 'default.oslo'), undefined);
  await assert.rejects(app.bus.call('agents.delete', { agentId: 'oslo' }), { code: 'NOT_FOUND' });

  const again = await app.bus.call('agents.create', { name: 'oslo' });
  assert.equal(again.config['maxSteps'], 150);
  assert.ok(await projected(app, 'default.oslo'));
});

test('a deleted agent from a file stays deleted after a restart', async () => {
  await using data = await tempDir();
  const options = { data: data.path, settings: { agents: { filed: { maxSteps: 3 } } } };
  {
    await using app = await start(options);
    assert.equal((await app.bus.call('agents.get', { agentId: 'filed' })).config['maxSteps'], 3);
    await app.bus.call('agents.delete', { agentId: 'filed' });
  }

  await using app = await start(options);
  assert.deepEqual((await app.bus.call('agents.list', {})).agents, ['default']);
  assert.equal(await projected(app, 'default.filed'), undefined);
});

test('stored values override files and are projected at each start', async () => {
  await using data = await tempDir();
  const options = { data: data.path, settings: { agents: { filed: { maxSteps: 3, maxTokens: 100 } } } };
  {
    await using app = await start(options);
    await app.bus.call('agents.update', { agentId: 'filed', maxSteps: 9 });
    await app.bus.call('agents.suspend', { agentId: 'filed' });
  }

  await using app = await start(options);
  const filed = await projected(app, 'default.filed');
  assert.equal(filed?.config['maxSteps'], 9);
  assert.equal(filed?.config['maxTokens'], 100);
  assert.equal(filed?.suspended, true);
});

test('agents.update with a base version writes over no change that its caller has not seen', async () => {
  await using app = await start();
  await app.bus.call('agents.create', { name: 'Oslo', model: 'dev/echo' });
  const read = async () => (await app.bus.call('agents.get', { agentId: 'oslo' })).version;
  const base = { agentId: 'oslo', baseVersion: (await read()) ?? assert.fail('no version') };
  const results = await Promise.allSettled([5, 6, 7].map((maxSteps) => app.bus.call('agents.update', { ...base, maxSteps })));
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as { code: string; details: object }] : []));
  assert.deepEqual(
    refused.map(({ code, details }) => [code, details]),
    [0, 1].map(() => ['ABORTED', { reason: 'HEAD_MOVED', retryable: false }]),
  );
  for (const dryRun of [true, false])
    await assert.rejects(app.bus.call('agents.update', { ...base, maxSteps: 8, dryRun }), { code: 'ABORTED', message: /Read it again/ });
  assert.equal(await read(), base.baseVersion + 1);
});

test('agents.update merges skills, replaces other keys and projects once', async () => {
  await using app = await start();
  await app.bus.call('agents.create', { name: 'oslo', skills: { watchDebounceMs: 500 }, rag: { maxResults: 9, maxContextChars: 100 } });
  const writes = await watchWrites(app);

  await app.bus.call('agents.update', { agentId: 'oslo', skills: { watchEnabled: false }, rag: { maxResults: 2 } });

  const { skills, rag } = AgentConfig.parse((await app.bus.call('agents.get', { agentId: 'oslo' })).config);
  assert.deepEqual([skills.watchDebounceMs, skills.watchEnabled], [500, false]);
  assert.deepEqual([rag.maxResults, rag.maxContextChars], [2, 4_000]);
  assert.deepEqual(writes, ['default.oslo']);
  assert.equal((await app.nextEvent('config:patched')).key, 'oslo');

  await app.bus.call('agents.update', { agentId: 'oslo', rag: { maxResults: 2 } });
  assert.deepEqual(writes, ['default.oslo'], 'an update without changes is not written');
});

test('concurrent updates are all stored', async () => {
  await using app = await start();
  await app.bus.call('agents.create', { name: 'oslo' });

  await Promise.all([
    app.bus.call('agents.update', { agentId: 'oslo', maxSteps: 5 }),
    app.bus.call('agents.update', { agentId: 'oslo', maxTokens: 6 }),
    app.bus.call('agents.update', { agentId: 'oslo', preserveRecent: 7 }),
  ]);

  const { config } = (await projected(app, 'default.oslo')) ?? assert.fail('not projected');
  assert.deepEqual([config['maxSteps'], config['maxTokens'], config['preserveRecent']], [5, 6, 7]);
});

test('a dry run returns all errors and changes nothing', async () => {
  await using app = await start();
  await app.bus.call('agents.create', { name: 'oslo' });
  const writes = await watchWrites(app);

  const good = await app.bus.call('agents.update', { agentId: 'oslo', maxSteps: 5, dryRun: true });
  assert.ok('dryRun' in good && good.valid && good.config?.['maxSteps'] === 5);
  const bad = await app.bus.call('agents.update', { agentId: 'oslo', provider: 'anthropic', dryRun: true });
  assert.ok('dryRun' in bad && !bad.valid);
  assert.match(bad.errors.join(), /^provider: anthropic is not available/);

  assert.deepEqual(writes, []);
  assert.equal((await app.bus.call('agents.get', { agentId: 'oslo' })).config['maxSteps'], 150);
  await assert.rejects(app.bus.call('agents.update', { agentId: 'nobody', dryRun: true }), { code: 'NOT_FOUND' });
});

test('rejects an unavailable provider or model', async () => {
  await using app = await start();

  assert.ok(await app.bus.call('agents.create', { name: 'slow', provider: 'dev', model: 'slow' }));
  assert.ok(await app.bus.call('agents.create', { name: 'echo', model: 'dev/echo' }));
  const provider = await catchError(app.bus.call('agents.create', { name: 'a', provider: 'openai', model: 'gpt-5' }));
  assert.deepEqual([provider.code, provider.details.reason], ['FAILED_PRECONDITION', 'PROVIDER_NOT_FOUND']);
  const model = await catchError(app.bus.call('agents.update', { agentId: 'slow', model: 'none' }));
  assert.deepEqual([model.code, model.details.reason], ['FAILED_PRECONDITION', 'MODEL_NOT_FOUND']);
});

test('rejects changes of the sandbox and of settings from the environment', async () => {
  await using app = await start({ env: { SWITCHYARD_AGENTS__DEFAULT__MAX_STEPS: '11' } });

  const sandbox = await catchError(app.bus.call('agents.update', { agentId: 'default', skills: { execSandbox: { enabled: 'never' } } }));
  assert.deepEqual([sandbox.code, sandbox.details.reason], ['FAILED_PRECONDITION', 'IMMUTABLE']);
  assert.match(sandbox.message, /agents\.default\.skills\.execSandbox\.enabled/);
  const pinned = await catchError(app.bus.call('agents.update', { agentId: 'default', maxSteps: 12 }));
  assert.deepEqual([pinned.code, pinned.details.reason], ['FAILED_PRECONDITION', 'PINNED']);
  assert.match(pinned.message, /SWITCHYARD_AGENTS__DEFAULT__MAX_STEPS/);
  assert.equal((await app.bus.call('agents.get', { agentId: 'default' })).config['maxSteps'], 11);
});

test('the environment overrides values that were stored before', async () => {
  await using data = await tempDir();
  {
    await using app = await start({ data: data.path });
    await app.bus.call('agents.update', { agentId: 'default', maxSteps: 5, maxTokens: 6 });
  }

  await using app = await start({ data: data.path, env: { SWITCHYARD_AGENTS__DEFAULT__MAX_STEPS: '11' } });
  const { config } = await app.bus.call('agents.get', { agentId: 'default' });
  assert.deepEqual([config['maxSteps'], config['maxTokens']], [11, 6]);
});

test('agents.suspend and agents.resume reject repeated calls', async () => {
  await using app = await start();
  await app.bus.call('agents.create', { name: 'oslo' });

  await assert.rejects(app.bus.call('agents.resume', { agentId: 'oslo' }), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await app.bus.call('agents.suspend', { agentId: 'oslo' }), { agentId: 'oslo', suspended: true });
  assert.equal((await projected(app, 'default.oslo'))?.suspended, true);
  await assert.rejects(app.bus.call('agents.suspend', { agentId: 'oslo' }), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await app.bus.call('agents.resume', { agentId: 'oslo' }), { agentId: 'oslo', resumed: true });
  assert.equal((await projected(app, 'default.oslo'))?.suspended, false);
});

test('returns NOT_FOUND for an agent of another tenant', async () => {
  await using app = await start({ as: principal({ tenant: 'a' }), settings: { agents: { filed: {} } } });
  await app.bus.call('agents.create', { name: 'oslo' });

  const elsewhere = app.bus.as(principal({ tenant: 'b' }));
  for (const method of ['agents.get', 'agents.delete', 'agents.suspend', 'agents.resume', 'agents.update'] as const) {
    await assert.rejects(elsewhere.call(method, { agentId: 'oslo' }), { code: 'NOT_FOUND' });
    await assert.rejects(elsewhere.call(method, { agentId: 'filed' }), { code: 'NOT_FOUND' });
  }
  assert.deepEqual((await elsewhere.call('agents.list', {})).agents, ['default']);
  assert.ok(await projected(app, 'a.oslo'));
});

test('removes a bucket entry without an agent at startup', async () => {
  const stale = 'default.ghost';
  await using app = await start({
    prepare: async (host) => {
      const bucket = await (await host.connect('registry')).kv(AGENTS_BUCKET);
      await bucket.put(stale, Buffer.from('{}'));
    },
  });

  assert.deepEqual(await (await app.bus.kv(AGENTS_BUCKET)).keys(), ['default.default']);
});

test('projects an agent that a configuration change adds', async () => {
  await using app = await start();
  const seen = Promise.withResolvers<void>();
  await (
    await app.bus.kv(AGENTS_BUCKET)
  ).watch(({ key }) => {
    if (key === 'default.late') seen.resolve();
  });

  await app.bus.call('config.patch', { agents: { late: { maxSteps: 4 } } });

  await seen.promise;
  assert.equal((await projected(app, 'default.late'))?.config['maxSteps'], 4);
  assert.deepEqual((await app.bus.call('agents.list', {})).agents, ['default', 'late']);
});

test('routing.defaultAgentId replaces the default agent', async () => {
  await using app = await start({ settings: { agents: { default: {} }, routing: { defaultAgentId: 'oslo' } } });

  assert.deepEqual((await app.bus.call('agents.list', {})).agents, ['default', 'oslo']);
  assert.equal((await projected(app, 'default.oslo'))?.isDefault, true);
  await assert.rejects(app.bus.call('agents.delete', { agentId: 'oslo' }), { code: 'FAILED_PRECONDITION' });
  assert.ok(await app.bus.call('agents.delete', { agentId: 'default' }));
});

test('projects all agents again after the server lost its store', { timeout: 60_000 }, async (t) => {
  await using stack = new AsyncDisposableStack();
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  await using app = await testService(registry, { env: { SWITCHYARD_BUS: server.url } });
  const bucket = await app.host.bus.kv(AGENTS_BUCKET);
  const before = await bucket.keys();
  assert.ok(before.length > 0);
  const restored = new Promise<void>((resolve) => app.host.bus.onRestored(resolve));
  await server.restart({ empty: true });
  await restored;
  let keys: string[] = [];
  while (keys.length === 0 && !t.signal.aborted) keys = await bucket.keys().catch(() => []);
  assert.deepEqual(keys, before);
});

test('a ${NAME} reference is stored and shown as written, and resolved on use', async () => {
  await using app = await start({ env: { MODEL_OF_OSLO: 'dev/slow', NAME_OF_OSLO: 'secret' } });
  const created = await app.bus.call('agents.create', { name: 'oslo', model: '${MODEL_OF_OSLO}', reactionLevel: 'minimal' });
  assert.equal(created.config['model'], '${MODEL_OF_OSLO}');
  assert.equal((await app.bus.call('agents.get', { agentId: 'oslo' })).config['model'], '${MODEL_OF_OSLO}');
  assert.equal((await projected(app, 'default.oslo'))?.config['model'], '${MODEL_OF_OSLO}');
  const { agents } = await app.bus.call('agents.visible', {});
  assert.deepEqual(agents.find(({ id }) => id === 'oslo')?.model, 'slow');

  await app.bus.call('agents.update', { agentId: 'oslo', name: '${NAME_OF_OSLO}' });
  const renamed = (await app.bus.call('agents.visible', {})).agents.find(({ id }) => id === 'oslo');
  assert.equal(renamed?.name, '${NAME_OF_OSLO}', 'public fields do not resolve references');
  await assert.rejects(app.bus.call('agents.update', { agentId: 'oslo', model: '${NOT_SET}' }), { code: 'FAILED_PRECONDITION' });
});

test('changes of agents are logged with client and keys, without values', async () => {
  const written: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void written.push(line) } });
  await using app = await start({ log, as: principal({ client: 'ops', scopes: ['*'] }) });
  await app.bus.call('agents.create', { name: 'oslo', maxSteps: 7 });
  await app.bus.call('agents.update', { agentId: 'oslo', maxSteps: 12_345, dryRun: true });
  await app.bus.call('agents.update', { agentId: 'oslo', maxSteps: 12_345 });
  await app.bus.call('agents.suspend', { agentId: 'oslo' });
  await app.bus.call('agents.resume', { agentId: 'oslo' });
  await app.bus.call('agents.delete', { agentId: 'oslo' });
  const lines = written.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ client }) => client === 'ops');
  assert.deepEqual(
    lines.map(({ msg, agentId, tenant, keys }) => [msg, agentId, tenant, keys]),
    [
      ['an agent was created', 'oslo', 'default', ['name', 'maxSteps']],
      ['an agent was updated', 'oslo', 'default', ['maxSteps']],
      ['an agent was suspended', 'oslo', 'default', undefined],
      ['an agent was resumed', 'oslo', 'default', undefined],
      ['an agent was deleted', 'oslo', 'default', undefined],
    ],
  );
  assert.ok(lines.every(({ level }) => Number(level) >= 30));
  assert.ok(!written.join('').includes('12345'));
});

test('every tenant with a token has a default agent, including a tenant that is added later', async () => {
  const token = (tenant: string) => ({ tenant, id: 'a', client: 'a', hash: 'x', scopes: ['rpc'], ver: 1 });
  await using app = await start({
    settings: { tenantId: 'acme & sons' },
    prepare: async (host) => {
      const bucket = await (await host.connect('secrets')).kv(TOKENS_BUCKET);
      await bucket.put(bucketKey('a.b', 'a'), Buffer.from(JSON.stringify(token('a.b'))));
    },
  });
  for (const tenant of ['acme & sons', 'a.b']) assert.equal((await projected(app, bucketKey(tenant, 'default')))?.tenant, tenant);
  const added = Promise.withResolvers<void>();
  await (await app.bus.kv(AGENTS_BUCKET)).watch(({ key }) => key === bucketKey('late', 'default') && added.resolve());
  await (await app.bus.kv(TOKENS_BUCKET)).put(bucketKey('late', 'a'), Buffer.from(JSON.stringify(token('late'))));
  await added.promise;
  assert.equal((await projected(app, 'late.default'))?.isDefault, true);
});
