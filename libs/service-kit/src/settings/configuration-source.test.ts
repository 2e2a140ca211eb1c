import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connectBus, type Bus } from '@switchyard/bus';
import { CONFIG_BUCKET } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { readEnvironment } from '../host/environment.ts';
import { resolveReferences } from './references.ts';
import { openSettings, type ConfigurationSource } from './configuration-source.ts';

/** Fails the test if a change does not arrive in time. */
const PATIENCE_MS = 10_000;

async function files(t: TestContext, contents: Record<string, string>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'switchyard-'));
  t.after(() => rm(dir, { recursive: true }));
  for (const [name, text] of Object.entries(contents)) await writeFile(join(dir, name), text);
  return Object.keys(contents)
    .map((name) => join(dir, name))
    .join(':');
}

async function open(env: Record<string, string>): Promise<ConfigurationSource> {
  return openSettings(await readEnvironment({ SWITCHYARD_CONFIG: ':', ...env }));
}

async function refused(env: Record<string, string>): Promise<string> {
  try {
    await open(env);
  } catch (error) {
    assert.equal((error as Error).name, 'StartError');
    return (error as Error).message;
  }
  return assert.fail('it was not refused');
}

async function store(bus: Bus, layer: object): Promise<number> {
  return (await bus.kv(CONFIG_BUCKET)).put('head', Buffer.from(JSON.stringify({ layer })));
}

test('returns the defaults without configuration', async () => {
  await using source = await open({});
  assert.equal(source.current.gateway.port, 4766);
  assert.equal(source.current.gateway.rateLimit.maxRequests, 100);
  assert.deepEqual([source.files(), source.pinned(), source.revision], [[], [], 0]);
  assert.deepEqual(source.origin('gateway.port'), { layer: 'default' });
});

test('merges files in order and reports the origin of each key', async (t) => {
  const config = await files(t, {
    'a.yaml': 'gateway:\n  port: 1\n  corsOrigins: [a, b]\n  rateLimit: { windowMs: 5 }\nlogLevel: warn\n',
    'b.json': '{"gateway": {"port": 2, "corsOrigins": ["c"], "rateLimit": {"maxRequests": 7}}}',
  });
  await using source = await open({ SWITCHYARD_CONFIG: config });
  const { gateway, logLevel } = source.current;
  assert.deepEqual([gateway.port, gateway.corsOrigins, gateway.rateLimit, logLevel], [2, ['c'], { windowMs: 5, maxRequests: 7 }, 'warn']);
  assert.deepEqual(source.files(), config.split(':'));
  assert.deepEqual(source.origin('gateway.rateLimit.windowMs'), { layer: 'file', file: config.split(':')[0] });
  assert.deepEqual(source.origin('gateway.rateLimit.maxRequests'), { layer: 'file', file: config.split(':')[1] });
});

test('substitutes ${VAR} in files with the expected type; $${ escapes', async (t) => {
  const config = await files(t, {
    'a.yaml':
      'gateway:\n  port: ${PORT_OF_MINE}\n  corsOrigins: ["http://${NAME}", "$${NAME}"]\nresponsePrefix: { template: "${DIGITS}" }\n',
  });
  await using source = await open({ SWITCHYARD_CONFIG: config, PORT_OF_MINE: '8080', NAME: 'x', DIGITS: '12' });
  assert.equal(source.current.gateway.port, 8080);
  assert.deepEqual(source.current.gateway.corsOrigins, ['http://x', '${NAME}']);
  assert.equal(source.current.responsePrefix.template, '12');
  assert.match(
    await refused({ SWITCHYARD_CONFIG: config, NAME: 'x', DIGITS: '1' }),
    /a\.yaml uses \$\{PORT_OF_MINE\}, but that variable is not set\.$/,
  );
});

test('the environment overrides all layers with the expected type and pins its keys', async (t) => {
  const config = await files(t, { 'a.yaml': 'gateway: { port: 1, maxBatchSize: 3 }' });
  await using source = await open({
    SWITCHYARD_CONFIG: config,
    SWITCHYARD_PORT: '0',
    SWITCHYARD_HOST: '0.0.0.0',
    SWITCHYARD_LOG_LEVEL: 'debug',
    SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: '100000',
    SWITCHYARD_GATEWAY__ALLOW_INSECURE_HTTP: 'true',
    SWITCHYARD_GATEWAY__CORS_ORIGINS: '["http://a"]',
    SWITCHYARD_MODELS__DEFAULT_MODEL: '7',
    SWITCHYARD_AGENTS__MY_AGENT__MAX_STEPS: '4',
    SWITCHYARD_PROVIDERS__ENTRIES__LOCAL: '{"type":"openai-compatible","baseUrl":"http://x"}',
  });
  const { gateway, logLevel, models, agents, providers } = source.current;
  assert.deepEqual([gateway.host, gateway.port, gateway.maxBatchSize, logLevel], ['0.0.0.0', 0, 3, 'debug']);
  assert.deepEqual([gateway.rateLimit.maxRequests, gateway.allowInsecureHttp, gateway.corsOrigins], [100_000, true, ['http://a']]);
  assert.deepEqual([models.defaultModel, agents['my_agent']?.maxSteps, providers.entries['local']?.baseUrl], ['7', 4, 'http://x']);
  assert.ok(source.pinned().some(({ path, variable }) => path === 'gateway.port' && variable === 'SWITCHYARD_PORT'));
  assert.deepEqual(source.origin('gateway.port'), { layer: 'environment', variable: 'SWITCHYARD_PORT' });
  assert.equal(source.origin('gateway.maxBatchSize').layer, 'file');
});

test('reads a configuration secret from the file of its _FILE variable', async (t) => {
  const secret = await files(t, { secret: `${'s'.repeat(40)}\n` });
  await using source = await open({ SWITCHYARD_WEBHOOKS__TOKEN_FILE: secret });
  assert.equal(source.current.webhooks.token, 's'.repeat(40));
});

test('rejects an unknown variable and suggests the most similar one', async () => {
  assert.equal(
    await refused({ SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUEST: '1' }),
    'SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUEST is not the name of a configuration key; did you mean SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS?',
  );
  assert.match(await refused({ SWITCHYARD_GATWAY__PORT: '1' }), /did you mean SWITCHYARD_GATEWAY\?$/);
  assert.match(await refused({ SWITCHYARD_PROT: '1' }), /did you mean SWITCHYARD_PORT\?$/);
  assert.match(
    await refused({ SWITCHYARD_GATEWAY__PORT__X: '1' }),
    /^SWITCHYARD_GATEWAY__PORT__X is not the name of a configuration key\.$/,
  );
});

test('ignores variables that other programs set for a service named switchyard', async () => {
  await using source = await open({ SWITCHYARD_SERVICE_HOST: '10.0.0.1', SWITCHYARD_PORT_4766_TCP_ADDR: '10.0.0.1' });
  assert.deepEqual(source.pinned(), []);
});

test('rejects an invalid value with path, reason and origin, but without the value', async (t) => {
  const config = await files(t, { 'a.yaml': 'gateway: { port: secret-text, unknownKey: 1 }' });
  const sentence = await refused({ SWITCHYARD_CONFIG: config, SWITCHYARD_GATEWAY__MAX_BATCH_SIZE: 'many' });
  assert.match(sentence, /^Config validation failed: /);
  assert.match(sentence, /gateway\.port: expected number, got string \(in .*a\.yaml\)/);
  assert.match(sentence, /gateway\.unknownKey: no such key \(in .*a\.yaml\)/);
  assert.match(sentence, /gateway\.maxBatchSize: expected number, got string \(from SWITCHYARD_GATEWAY__MAX_BATCH_SIZE\)/);
  assert.ok(!sentence.includes('secret-text'));
});

test('rejects the redaction mark as a secret', async (t) => {
  const config = await files(t, { 'a.yaml': 'gateway: { tokens: [{ id: ci, secret: "[REDACTED]" }] }' });
  assert.match(
    await refused({ SWITCHYARD_CONFIG: config }),
    /^Config validation failed: gateway\.tokens\.0\.secret: expected a secret, got the placeholder /,
  );
  assert.match(await refused({ SWITCHYARD_WEBHOOKS__TOKEN: '[REDACTED]' }), /webhooks\.token.*\(from SWITCHYARD_WEBHOOKS__TOKEN\)$/);
});

test('rejects an unknown key of a file and suggests the most similar one', async (t) => {
  const config = await files(t, { 'a.yaml': 'gatewya: {}\ngateway: { rateLimit: { maxRequest: 1 } }' });
  const sentence = await refused({ SWITCHYARD_CONFIG: config });
  assert.match(sentence, /gatewya: no such key; did you mean gateway\? \(in/);
  assert.match(sentence, /gateway\.rateLimit\.maxRequest: no such key; did you mean maxRequests\? \(in/);
});

test('reports a number out of range as a number', async () => {
  assert.match(
    await refused({ SWITCHYARD_PORT: '99999' }),
    /^Config validation failed: gateway\.port: expected number .*65535.*\(from SWITCHYARD_PORT\)$/,
  );
});

test('rejects prototype keys in every layer', async (t) => {
  for (const key of ['__proto__', 'constructor', 'prototype']) {
    const config = await files(t, { 'a.yaml': `gateway:\n  ${key}: { port: 1 }\n`, 'b.json': '{}' });
    assert.match(await refused({ SWITCHYARD_CONFIG: config }), new RegExp(`has a key named ${key}`));
    assert.match(await refused({ SWITCHYARD_GATEWAY: `{"${key}":{"port":1}}` }), new RegExp(`has a key named ${key}`));
  }
  assert.equal(({} as Record<string, unknown>)['port'], undefined);
});

test('rejects a named file that is missing or does not contain sections', async (t) => {
  assert.match(
    await refused({ SWITCHYARD_CONFIG: '/nowhere/x.yaml' }),
    /^The configuration file \/nowhere\/x\.yaml cannot be read \(ENOENT\)\.$/,
  );
  assert.match(await refused({ SWITCHYARD_CONFIG: await files(t, { 'a.yaml': '- 1' }) }), /must contain an object of sections/);
  assert.match(await refused({ SWITCHYARD_CONFIG: await files(t, { 'a.yaml': 'a: [' }) }), /cannot be parsed: .*\.$/);
  assert.match(await refused({ SWITCHYARD_CONFIG: await files(t, { 'a.yaml': 'a: &a [*a]' }) }), /is nested .*contains itself\.$/);
  await using empty = await open({ SWITCHYARD_CONFIG: await files(t, { 'a.yaml': '# nothing\n' }) });
  assert.equal(empty.files().length, 1);
});

test('applies the stored layer without a restart, above files and below the environment', { timeout: PATIENCE_MS }, async (t) => {
  const config = await files(t, { 'a.yaml': 'gateway: { maxBatchSize: 3, httpBodyLimitBytes: 5000 }' });
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  await using source = await open({ SWITCHYARD_CONFIG: config, SWITCHYARD_PORT: '1' });
  await source.follow(bus, silentLogger());
  const view = source.watch(['gateway']);
  const other = source.watch(['models']);
  const before = view.current;
  const changes: number[] = [];
  const changed = Promise.withResolvers<void>();
  view.onChange(({ gateway }) => {
    changes.push(gateway.maxBatchSize);
    changed.resolve();
  });
  let others = 0;
  other.onChange(() => others++);

  const revision = await store(bus, { gateway: { maxBatchSize: 9, port: 77 } });
  await changed.promise;
  assert.deepEqual([view.current.gateway.maxBatchSize, view.current.gateway.httpBodyLimitBytes, view.current.gateway.port], [9, 5_000, 1]);
  assert.equal(before.gateway.maxBatchSize, 3, 'a snapshot does not change');
  assert.ok(Object.isFrozen(view.current.gateway.rateLimit));
  assert.deepEqual([source.revision, changes, others], [revision, [9], 0]);
  assert.deepEqual(source.origin('gateway.maxBatchSize'), { layer: 'stored' });

  const applied = Promise.withResolvers<number>();
  source.onRevision((next) => applied.resolve(next));
  await store(bus, { gateway: { maxBatchSize: 'many' }, logLevel: 'fatal' });
  await bus.flush();
  assert.equal(source.origin('logLevel').layer, 'default', 'a layer that is refused is not there at all');
  assert.deepEqual([source.revision, source.refusal?.revision], [revision, revision + 1]);
  assert.match(source.refusal?.reason ?? '', /^Config validation failed: gateway\.maxBatchSize: expected number, got string/);
  await store(bus, { gateway: { ['__proto__']: 1 } });
  const sound = await store(bus, { gateway: { maxBatchSize: 10 } });
  assert.equal(await applied.promise, sound, 'what is not valid was skipped');
  assert.equal(view.current.gateway.maxBatchSize, 10);
  assert.equal(source.refusal, undefined);

  view[Symbol.dispose]();
  const removed = Promise.withResolvers<number>();
  source.onRevision((next) => removed.resolve(next));
  await (await bus.kv(CONFIG_BUCKET)).remove('head');
  await removed.promise;
  assert.equal(view.current.gateway.maxBatchSize, 3, 'without a stored layer the files count again');
  assert.deepEqual(changes, [9, 10], 'a disposed view hears nothing');
});

test('follow applies the layer that was stored before the start', async (t) => {
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  const revision = await store(bus, { logLevel: 'error' });
  await using source = await open({});
  await source.follow(bus, silentLogger());
  assert.deepEqual([source.current.logLevel, source.revision], ['error', revision]);
});

test('resolves a stored ${NAME} on use, except for withheld variables', async (t) => {
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  const written = { template: '${PREFIX}' };
  await store(bus, {
    responsePrefix: written,
    gateway: { maxBatchSize: '${BATCH}', corsOrigins: ['${PREFIX}', 'x${PREFIX}', '${UNSET}'] },
  });
  await using source = await open({ PREFIX: '>>', BATCH: '7' });
  await source.follow(bus, silentLogger());
  const { gateway, responsePrefix } = source.current;
  assert.deepEqual([gateway.maxBatchSize, gateway.corsOrigins, responsePrefix.template], [7, ['>>', 'x${PREFIX}', '${UNSET}'], '>>']);

  const keys = { SECRETS_MASTER_KEY: 'k', SWITCHYARD_TOKEN: 't', SWITCHYARD_STORE: 's', NATS_GATEWAY_PASSWORD: 'p', PREFIX: '>>' };
  const names = {
    a: '${SECRETS_MASTER_KEY}',
    b: ['${SWITCHYARD_TOKEN}', '${SWITCHYARD_STORE}', '${NATS_GATEWAY_PASSWORD}'],
    local: { headers: { 'x-key': '${PREFIX}', more: { deep: '${PREFIX}' } } },
  };
  assert.deepEqual(resolveReferences(names, keys), names);
});

test('lists settings without effect with the origin of their value', async (t) => {
  const config = await files(t, {
    'a.yaml':
      'autoReplyEngine: { enabled: false, groupActivation: always }\ngateway: { port: 1, tokens: [{ id: ci, mcpClient: { allowlist: [x] } }] }\nwebhooks: { mappings: [{ id: m, channel: c }] }\n',
    'b.yaml':
      'autoReplyEngine: { groupActivation: custom }\nagents: { oslo: { name: Oslo, notification: { maxPerHour: 4 } } }\nplugins: { plugins: { a.b: { priority: 1 } } }\n',
  });
  const [a, b] = config.split(':');
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  await store(bus, { sendPolicy: { enabled: false }, queue: { maxConcurrentSessions: 2 } });
  await using source = await open({
    SWITCHYARD_CONFIG: config,
    SWITCHYARD_AUTO_REPLY_ENGINE__ENABLED: 'true',
    SWITCHYARD_RESPONSE_PREFIX: '{"template": "x"}',
  });
  assert.ok(!source.notInForce().some(({ path }) => path === 'sendPolicy.enabled'));
  await source.follow(bus, silentLogger());
  assert.equal(source.notInForce(), source.notInForce(), 'worked out once, not for each that asks');
  assert.deepEqual(source.notInForce(), [
    { path: 'agents.oslo.notification.maxPerHour', from: b },
    { path: 'autoReplyEngine.enabled', from: 'SWITCHYARD_AUTO_REPLY_ENGINE__ENABLED' },
    { path: 'autoReplyEngine.groupActivation', from: b },
    { path: 'plugins.plugins.a.b.priority', from: b },
    { path: 'responsePrefix.template', from: 'SWITCHYARD_RESPONSE_PREFIX' },
    { path: 'sendPolicy.enabled', from: 'the stored configuration' },
    { path: 'webhooks.mappings.0.channel', from: a },
  ]);
});

test('refuses a revision that a listener fails to apply, with a reason without secrets', async (t) => {
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  await using source = await open({});
  await source.follow(bus, silentLogger());
  source.watch(['gateway']).onChange(({ gateway }) => {
    if (gateway.maxBatchSize === 9) throw new Error('no room; Bearer abcdefghijkl');
  });
  const receivedMessage = Promise.withResolvers<unknown>();
  source.onRefusal(receivedMessage.resolve);
  const revision = await store(bus, { gateway: { maxBatchSize: 9 } });
  assert.deepEqual(await receivedMessage.promise, { revision, reason: 'no room; Bearer [REDACTED]' });
  await store(bus, {});
  await bus.flush();
  assert.equal(source.refusal, undefined);
});

test('preview resolves references and written keeps them', async () => {
  await using source = await open({ SWITCHYARD_GATEWAY__MAX_BATCH_SIZE: '4', BEAT: '7' });
  const layer = { gateway: { wsHeartbeatMs: '${BEAT}', maxBatchSize: 5 } };
  assert.deepEqual([source.preview(layer).gateway.wsHeartbeatMs, source.preview(layer).gateway.maxBatchSize], [7, 4]);
  const written = source.written(layer)['gateway'] as Record<string, unknown>;
  assert.deepEqual([written['wsHeartbeatMs'], written['maxBatchSize'], written['port']], ['${BEAT}', 4, 4766]);
  assert.equal(source.current.gateway.wsHeartbeatMs, 30_000);
  assert.throws(() => source.preview({ gateway: { wsHeartbeatMs: -1 } }), /^StartError: Config validation failed: gateway\.wsHeartbeatMs/);
  assert.ok(source.written({ gateway: { wsHeartbeatMs: -1 } }), 'what is not valid can be looked at');
  assert.deepEqual(source.origin('gateway.wsHeartbeatMs', layer), { layer: 'stored' });
});

test('a layer that is tried is applied at once, and goes back if it is refused or too slow', async () => {
  await using source = await open({});
  const seen: number[] = [];
  using view = source.watch(['gateway']);
  view.onChange(({ gateway }) => {
    seen.push(gateway.maxBatchSize);
    if (gateway.maxBatchSize > 10) throw new Error('too many');
  });
  const layer = (maxBatchSize: unknown) => ({ gateway: { maxBatchSize } });
  const standard = source.current.gateway.maxBatchSize;
  assert.throws(() => source.tryLayer(layer(11), PATIENCE_MS), /too many/);
  assert.throws(() => source.tryLayer(layer(9), -1), /took \d+ ms, more than -1 ms/);
  assert.throws(() => source.tryLayer(layer('many'), PATIENCE_MS), /gateway\.maxBatchSize/);
  assert.deepEqual([source.current.gateway.maxBatchSize, source.stored], [standard, {}]);
  const goBack = source.tryLayer(layer(8), PATIENCE_MS);
  assert.deepEqual([source.current.gateway.maxBatchSize, source.revision], [8, 0]);
  goBack();
  assert.deepEqual([source.current.gateway.maxBatchSize, seen], [standard, [11, standard, 9, standard, 8, standard]]);
});

test('listeners learn of a published layer once if this process has tried it', async (t) => {
  const bus = await connectBus('memory:', { log: silentLogger() });
  t.after(() => bus.drain());
  await using source = await open({});
  await source.follow(bus, silentLogger());
  const seen: number[] = [];
  using view = source.watch(['gateway']);
  view.onChange(({ gateway }) => void seen.push(gateway.maxBatchSize));
  const applied = new Promise<number>((resolve) => source.onRevision(resolve));
  const goBack = source.tryLayer({ gateway: { maxBatchSize: 8 } }, PATIENCE_MS);
  assert.equal(await store(bus, { gateway: { maxBatchSize: 8 } }), await applied);
  goBack();
  assert.deepEqual([seen, source.current.gateway.maxBatchSize], [[8], 8]);
});
