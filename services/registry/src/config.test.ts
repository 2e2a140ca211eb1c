import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_BUCKET, OBJECT_SECTIONS, SECTION_NAMES, type ConfigurationPatch, type ServiceError } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { principal, tempDir, testService, type TestService, type TestServiceOptions } from '@switchyard/testkit';
import { registry } from './service.ts';

const ops = principal({ client: 'ops', scopes: ['*'] });
const HOOK_TOKEN = 'h'.repeat(40);

function start(options: TestServiceOptions = {}): Promise<TestService> {
  return testService(registry, { as: ops, ...options });
}

/** The published entry. */
async function received(app: TestService): Promise<{ sha: string; layer: ConfigurationPatch; revision: number }> {
  const entry = await (await app.bus.kv(CONFIG_BUCKET)).get('head');
  return {
    ...(JSON.parse(Buffer.from(entry?.value ?? '').toString()) as { sha: string; layer: ConfigurationPatch }),
    revision: entry?.revision ?? 0,
  };
}

async function history(app: TestService, limit = 1_000) {
  return (await app.bus.call('config.history', { limit })).entries;
}

async function catchError(call: Promise<unknown>): Promise<Pick<ServiceError, 'code' | 'message' | 'details'>> {
  return call.then(
    () => assert.fail('the call was not rejected'),
    (error: unknown) => error as ServiceError,
  );
}

test('creates and publishes an empty first version', async () => {
  await using app = await start();
  const [first, ...others] = await history(app);
  assert.deepEqual([first?.message, first?.parent, others], ['first version, empty', undefined, []]);
  const now = await received(app);
  assert.deepEqual([now.sha, now.layer], [first?.sha, {}]);
});

test('config.patch merges objects, replaces lists and is published before its answer', async () => {
  await using app = await start({ settings: { gateway: { rateLimit: { windowMs: 5 }, corsOrigins: ['a'] } } });
  await app.bus.call('config.patch', { gateway: { rateLimit: { maxRequests: 7 }, corsOrigins: ['b'] } });
  const answer = await app.bus.call('config.patch', { gateway: { corsOrigins: ['c'] } });

  const { gateway } = app.host.settings.current;
  assert.deepEqual([gateway.rateLimit, gateway.corsOrigins], [{ windowMs: 5, maxRequests: 7 }, ['c']]);
  assert.ok('patched' in answer);
  assert.deepEqual([answer.section, answer.key, answer.value, answer.restarting], ['gateway', 'corsOrigins', ['c'], true]);
  assert.equal(answer.commitSha, (await received(app)).sha);
  assert.deepEqual((await received(app)).layer, { gateway: { rateLimit: { maxRequests: 7 }, corsOrigins: ['c'] } });
});

test('each write is one version with author, message and parent, and emits events', async () => {
  await using app = await start();
  await app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 9 });
  await app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 9, message: 'once more' });
  await app.bus.call('config.patch', { gateway: { wsHeartbeatMs: 1 }, logLevel: 'debug' });

  const entries = await history(app);
  assert.deepEqual(
    entries.map(({ message, author, section }) => [message, author, section]),
    [
      ['config.patch logLevel, gateway', 'ops', undefined],
      ['once more', 'ops', 'gateway'],
      ['config.set gateway.maxBatchSize', 'ops', 'gateway'],
      ['first version, empty', 'switchyard', undefined],
    ],
  );
  assert.deepEqual(
    entries.map(({ parent }) => parent),
    [...entries.slice(1).map(({ sha }) => sha), undefined],
  );
  assert.equal(new Set(entries.map(({ sha }) => sha)).size, 4);
  const messages = [];
  for (let n = 0; n < 4; n++) messages.push(await app.nextEvent('config:patched'));
  assert.deepEqual(
    messages.map(({ section, key, patchedBy, sha }) => [section, key, patchedBy, sha]),
    [
      ['gateway', 'maxBatchSize', 'ops', entries[2]?.sha],
      ['gateway', 'maxBatchSize', 'ops', entries[1]?.sha],
      ['logLevel', undefined, 'ops', entries[0]?.sha],
      ['gateway', 'wsHeartbeatMs', 'ops', entries[0]?.sha],
    ],
  );
  assert.equal((await history(app, 2)).length, 2);
});

test('rejects a write with an outdated baseSha and names the head', async () => {
  await using app = await start();
  const [base] = await history(app);
  const first = await app.bus.call('config.patch', { logLevel: 'warn', baseSha: base?.sha.slice(0, 12) });
  const { commitSha = '' } = first as { commitSha?: string };
  for (const call of [
    app.bus.call('config.patch', { logLevel: 'error', baseSha: base?.sha }),
    app.bus.call('config.apply', { logLevel: 'error', baseSha: base?.sha, dryRun: true }),
    app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 1, baseSha: base?.sha }),
    app.bus.call('config.rollback', { sha: commitSha, baseSha: base?.sha }),
  ]) {
    const { code, message, details } = await catchError(call);
    assert.deepEqual([code, details.reason], ['ABORTED', 'HEAD_MOVED']);
    assert.ok(message.includes(commitSha));
  }
  assert.equal((await history(app)).length, 2);
});

test('config.set writes nested keys, returns the previous value, and null removes the stored value', async () => {
  await using app = await start({ settings: { gateway: { rateLimit: { maxRequests: 5 } } } });
  const key = 'rateLimit.maxRequests';
  const set = await app.bus.call('config.set', { section: 'gateway', key, value: 6 });
  assert.ok('ok' in set && set.previous === 5);
  const back = await app.bus.call('config.set', { section: 'gateway', key, value: null });
  assert.ok('ok' in back && back.previous === 6);
  assert.equal(app.host.settings.current.gateway.rateLimit.maxRequests, 5);
  assert.deepEqual((await received(app)).layer, {});
});

test('rejects invalid values with their path only, and unknown sections with a suggestion', async () => {
  await using app = await start();
  const wrong = await catchError(app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 'hush-hush' }));
  assert.deepEqual([wrong.code, wrong.message.includes('hush')], ['INVALID_ARGUMENT', false]);
  assert.match(wrong.message, /^Invalid params: gateway\.maxBatchSize: expected number/);
  const unknown = await catchError(app.bus.call('config.set', { section: 'gatway', key: 'maxBatchSize', value: 1 }));
  assert.deepEqual([unknown.code, /did you mean gateway\?/.test(unknown.message)], ['NOT_FOUND', true]);
  assert.match((await catchError(app.bus.call('config.get', { section: 'logLevel' }))).message, /config\.patch/);
  const misspelled = { webhooks: { mappings: [{ id: 'a', agentID: 'b' }] }, gateway: { rateLimit: { maxRequest: 1 } } };
  const { message } = await catchError(app.bus.call('config.patch', misspelled as unknown as ConfigurationPatch));
  for (const path of ['gateway.rateLimit.maxRequest', 'webhooks.mappings.0.agentID'])
    assert.match(
      message,
      new RegExp(`${path}: expected no such parameter, got an unknown name \\(did you mean (maxRequests|agentId)\\?\\)`),
    );
  for (const key of ['rateLimit..x', 'rateLimit.constructor', '__proto__.x'])
    assert.equal((await catchError(app.bus.call('config.set', { section: 'gateway', key, value: 1 }))).code, 'INVALID_ARGUMENT', key);
  assert.equal((await history(app)).length, 1);
});

test('rejects a write that makes the whole configuration invalid, and publishes nothing', async () => {
  await using app = await start();
  const incomplete = { providers: { entries: { local: { baseUrl: 'http://127.0.0.1:1' } } } };
  const { code, message, details } = await catchError(app.bus.call('config.patch', incomplete));
  assert.deepEqual([code, details.reason], ['INVALID_ARGUMENT', 'CONFIG_INVALID']);
  assert.match(message, /^Config validation failed: providers\.entries\.local\.type: expected/);
  assert.equal((await history(app)).length, 1);
});

test('rejects names that reach a prototype', async () => {
  await using app = await start();
  for (const text of ['{"agents":{"__proto__":{"maxSteps":3}}}', '{"agents":{"constructor":{"maxSteps":3}}}', '{"__proto__":{}}']) {
    for (const method of ['config.patch', 'config.apply'] as const)
      assert.equal((await catchError(app.bus.call(method, JSON.parse(text) as ConfigurationPatch))).code, 'INVALID_ARGUMENT', text);
  }
  const value = JSON.parse('{"__proto__":{"maxSteps":1}}') as unknown;
  assert.equal((await catchError(app.bus.call('config.set', { section: 'agents', key: 'oslo', value }))).code, 'INVALID_ARGUMENT');
  assert.equal(({} as { maxSteps?: number }).maxSteps, undefined);
  assert.equal((await history(app)).length, 1);
});

test('rejects immutable paths unless they are overridden, and paths from the environment', async () => {
  await using app = await start({
    env: { SWITCHYARD_GATEWAY__MAX_BATCH_SIZE: '4' },
    settings: { config: { immutableOverrides: ['daemon.logging'] } },
  });
  const { code, message, details } = await catchError(app.bus.call('config.patch', { gateway: { port: 1, wsHeartbeatMs: 2 } }));
  assert.deepEqual([code, details.reason], ['FAILED_PRECONDITION', 'IMMUTABLE']);
  assert.match(message, /^gateway\.port cannot be changed/);
  assert.match((await catchError(app.bus.call('config.patch', { agents: { oslo: { name: 'x' } } }))).message, /agents\.update/);
  const pinned = await catchError(app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 5 }));
  assert.deepEqual([pinned.code, pinned.details.reason], ['FAILED_PRECONDITION', 'PINNED']);
  assert.match(pinned.message, /SWITCHYARD_GATEWAY__MAX_BATCH_SIZE/);
  await app.bus.call('config.set', { section: 'daemon', key: 'logging.maxFiles', value: 3 });
  assert.equal(app.host.settings.current.gateway.wsHeartbeatMs, 30_000);
  assert.equal(
    (await catchError(app.bus.call('config.set', { section: 'config', key: 'immutableOverrides', value: [] }))).details.reason,
    'IMMUTABLE',
  );
});

test('config.apply stores only differences and keeps redacted secrets', async () => {
  await using app = await start({
    settings: { webhooks: { token: HOOK_TOKEN }, gateway: { wsHeartbeatMs: 7 } },
    env: { SWITCHYARD_GATEWAY__MAX_BATCH_SIZE: '4' },
  });
  await app.bus.call('config.patch', { queue: { maxConcurrentSessions: 3 }, logLevel: 'warn' });
  const read = (await app.bus.call('config.read', {})) as { config: { gateway: object; webhooks: { token: string } } };
  assert.equal(read.config.webhooks.token, '[REDACTED]');

  const whole = { ...read.config, gateway: { ...read.config.gateway, wsHeartbeatMs: 8 } };
  const applied = await app.bus.call('config.apply', whole);
  assert.ok('applied' in applied && applied.sections.includes('webhooks'));
  assert.deepEqual((await received(app)).layer, { gateway: { wsHeartbeatMs: 8 }, queue: { maxConcurrentSessions: 3 }, logLevel: 'warn' });
  assert.equal(app.host.settings.current.webhooks.token, HOOK_TOKEN);

  await app.bus.call('config.apply', { logLevel: 'warn' });
  assert.deepEqual((await received(app)).layer, { logLevel: 'warn' }, 'omitted values are removed');
  const moved = { ...read.config, gateway: { ...read.config.gateway, port: 1 } } as ConfigurationPatch;
  assert.match((await catchError(app.bus.call('config.apply', moved))).message, /^gateway\.port cannot be changed/);
});

test('never stores the placeholder of a redacted secret', async () => {
  await using app = await start({ settings: { webhooks: { token: HOOK_TOKEN } } });
  await app.bus.call('config.patch', { webhooks: { token: '[REDACTED]', maxBodyBytes: 9 } });
  assert.deepEqual((await received(app)).layer, { webhooks: { maxBodyBytes: 9 } }, 'the secret is unchanged');
  const local = { type: 'openai', headers: { 'x-key': '[REDACTED]' }, baseUrl: 'http://me:[REDACTED]@127.0.0.1:1' } as const;
  const list = { providers: { entries: { local } } };
  for (const method of ['config.patch', 'config.apply'] as const) {
    const { code, message } = await catchError(app.bus.call(method, list));
    assert.equal(code, 'INVALID_ARGUMENT');
    assert.match(message, /providers\.entries\.local\.headers\.x-key: expected the secret/);
    assert.match(message, /providers\.entries\.local\.baseUrl: expected the secret/);
  }
});

test('rejects variable references in headers that are sent to a configured address', async () => {
  await using app = await start({ env: { DEPLOY_KEY: 'of the house' } });
  const local = { type: 'openai', baseUrl: 'https://elsewhere.example', headers: { 'x-key': '${DEPLOY_KEY}', 'x-team': 'ours' } } as const;
  for (const method of ['config.patch', 'config.apply'] as const) {
    const { code, message } = await catchError(app.bus.call(method, { providers: { entries: { local } } }));
    assert.equal(code, 'INVALID_ARGUMENT');
    assert.match(message, /providers\.entries\.local\.headers\.x-key: expected a literal header; .* got a reference to a variable/);
    assert.ok(!message.includes('of the house'));
  }
  const set = app.bus.call('config.set', { section: 'providers', key: 'entries', value: { local } });
  assert.equal((await catchError(set)).code, 'INVALID_ARGUMENT');
});

test('config.get returns a section with secrets and logs it; config.read redacts them', async () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void lines.push(line) } });
  await using app = await start({ log, settings: { webhooks: { token: HOOK_TOKEN } }, env: { PREFIX: '>>' } });
  await app.bus.call('config.patch', { responsePrefix: { template: '${PREFIX}' } });
  assert.equal((await app.bus.call('config.get', { section: 'webhooks' }))['token'], HOOK_TOKEN);
  assert.equal((await app.bus.call('config.get', { section: 'responsePrefix' }))['template'], '${PREFIX}');
  assert.equal(app.host.settings.current.responsePrefix.template, '>>');
  const whole = await app.bus.call('config.get', {});
  const section = await app.bus.call('config.read', { section: 'webhooks' });
  const all = await app.bus.call('config.read', {});
  for (const shown of [whole, section, all]) assert.ok(!JSON.stringify(shown).includes(HOOK_TOKEN));
  assert.deepEqual([(section as { token?: string }).token, all['sections']], ['[REDACTED]', [...OBJECT_SECTIONS]]);
  assert.equal((all['config'] as { logLevel: string }).logLevel, 'info');
  const raw = lines.filter((line) => line.includes('read with its secrets')).map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    raw.map((line) => [line['client'], line['section']]),
    [
      ['ops', 'webhooks'],
      ['ops', 'responsePrefix'],
    ],
  );
  assert.ok(!lines.join('').includes(HOOK_TOKEN));
});

test('config.read returns the origin of each value', async () => {
  await using app = await start({ env: { SWITCHYARD_GATEWAY__MAX_BATCH_SIZE: '4' }, settings: { gateway: { wsHeartbeatMs: 1 } } });
  await app.bus.call('config.patch', { gateway: { rateLimit: { windowMs: 2 } } });
  const { config, sections, origins } = (await app.bus.call('config.read', { section: 'gateway', origins: true })) as {
    config: object;
    sections: string[];
    origins: Record<string, object>;
  };
  assert.deepEqual([Object.keys(config), sections], [['gateway'], ['gateway']]);
  assert.deepEqual(origins['gateway.maxBatchSize'], { layer: 'environment', from: 'SWITCHYARD_GATEWAY__MAX_BATCH_SIZE' });
  assert.deepEqual(origins['gateway.wsHeartbeatMs'], { layer: 'preset' });
  assert.deepEqual(origins['gateway.rateLimit.windowMs'], { layer: 'stored' });
  assert.deepEqual(origins['gateway.rateLimit.maxRequests'], { layer: 'default' });
  const everything = (await app.bus.call('config.read', { origins: true })) as { origins: object };
  assert.ok(Object.keys(everything.origins).length > 300);
});

test('config.schema returns the schema of a section', async () => {
  await using app = await start();
  const one = await app.bus.call('config.schema', { section: 'gateway' });
  assert.deepEqual([one.section, one.sections], ['gateway', ['gateway']]);
  const { properties } = one.schema as { properties: Record<string, { default: unknown }> };
  assert.equal(properties['maxBatchSize']?.default, 50);
  const all = await app.bus.call('config.schema', {});
  assert.deepEqual(Object.keys(all.schema), SECTION_NAMES);
});

test('config.rollback writes a new version with the old content', async () => {
  await using app = await start();
  await app.bus.call('config.patch', { logLevel: 'warn' });
  const [wanted] = await history(app);
  await app.bus.call('config.patch', { logLevel: 'error', gateway: { maxBatchSize: 1 } });
  const back = await app.bus.call('config.rollback', { sha: wanted?.sha ?? '' });

  assert.ok('rolledBack' in back && back.sha === wanted?.sha && back.newCommitSha !== wanted.sha);
  assert.deepEqual((await received(app)).layer, { logLevel: 'warn' });
  const [newest, ...others] = await history(app);
  assert.deepEqual([newest?.sha, newest?.restores, others.length], [back.newCommitSha, wanted.sha, 3]);
  assert.equal((await app.bus.call('config.diff', { sha: wanted.sha })).diff, '');
  assert.equal((await catchError(app.bus.call('config.rollback', { sha: 'f'.repeat(64) }))).code, 'NOT_FOUND');
});

test('a dry run of each write returns its result and changes nothing', async () => {
  await using app = await start();
  await app.bus.call('config.patch', { logLevel: 'warn' });
  const before = await received(app);
  const { sha = '' } = (await history(app)).at(-1) ?? {};
  const dry = { dryRun: true } as const;
  for (const call of [
    app.bus.call('config.patch', { autoReplyEngine: { enabled: false }, ...dry }),
    app.bus.call('config.apply', { autoReplyEngine: { enabled: false }, ...dry }),
    app.bus.call('config.set', { section: 'autoReplyEngine', key: 'enabled', value: false, ...dry }),
  ]) {
    const checked = await call;
    assert.ok('dryRun' in checked && checked.valid);
    assert.match(checked.diff ?? '', /\+enabled: false/);
    assert.deepEqual(checked.notInForce, ['autoReplyEngine.enabled']);
  }
  const back = await app.bus.call('config.rollback', { sha, ...dry });
  assert.ok('dryRun' in back && /^-warn$/m.test(back.diff ?? ''));
  const bad = await app.bus.call('config.patch', { security: { auditLog: false }, ...dry });
  assert.ok('dryRun' in bad && !bad.valid && bad.diff === undefined);
  assert.match(bad.errors.join(), /^security\.auditLog cannot be changed/);
  const gc = await app.bus.call('config.gc', dry);
  assert.deepEqual([gc.dryRun, gc.squashed], [true, 0]);
  assert.deepEqual(await received(app), before);
  assert.equal((await history(app)).length, 2);
});

test('rejects reads and writes of the configuration by other tenants', async () => {
  await using app = await start();
  const elsewhere = app.bus.as(principal({ tenant: 'b', scopes: ['*'] }));
  const { sha = '' } = (await history(app))[0] ?? {};
  const calls: Record<string, object> = {
    'config.get': {},
    'config.read': {},
    'config.history': {},
    'config.diff': {},
    'config.gc': {},
    'config.patch': { logLevel: 'warn' },
    'config.apply': { logLevel: 'warn' },
    'config.rollback': { sha },
    'config.set': { section: 'gateway', key: 'maxBatchSize', value: 1 },
  };
  for (const [method, params] of Object.entries(calls))
    assert.equal((await catchError(elsewhere.call(method as 'config.get', params))).code, 'PERMISSION_DENIED', method);
  assert.equal((await history(app)).length, 1);
});

test('the stored configuration applies after a restart, before any call is served', async () => {
  await using data = await tempDir();
  {
    await using app = await start({ data: data.path });
    await app.bus.call('config.patch', { gateway: { maxBatchSize: 9 } });
  }
  await using app = await start({ data: data.path });
  assert.equal(app.host.settings.current.gateway.maxBatchSize, 9);
  assert.equal((await history(app)).length, 2);
});

test('an installation with a new tenantId keeps its stored configuration', async () => {
  await using data = await tempDir();
  {
    await using app = await start({ data: data.path });
    await app.bus.call('config.patch', { gateway: { maxBatchSize: 9 } });
  }
  const as = principal({ tenant: 'acme', scopes: ['*'] });
  await using app = await start({ data: data.path, as, settings: { tenantId: 'acme' } });
  assert.equal(app.host.settings.current.gateway.maxBatchSize, 9);
  assert.deepEqual(
    (await history(app)).map(({ message }) => message),
    ['configuration of the former tenant default'],
  );
});

test('rejects a stored configuration above the size limit', async () => {
  await using app = await start();
  const names = (count: number) => Array.from({ length: count }, (_, at) => `${at}-${'x'.repeat(1_000)}`);
  await app.bus.call('config.patch', { gateway: { corsOrigins: names(300) } });
  const { code } = await catchError(app.bus.call('config.patch', { gateway: { trustedProxies: names(300) } }));
  assert.equal(code, 'OUT_OF_RANGE');
  assert.equal(app.host.settings.current.gateway.corsOrigins.length, 300);
});
