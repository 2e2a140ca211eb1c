import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { AGENTS_BUCKET, bucketKey, SECRETS_BUCKET } from '@switchyard/contracts';
import { createSecretReader } from '@switchyard/service-kit';
import { principal, tempDir, type TestService } from '@switchyard/testkit';
import { secretCollection } from '../documents/collections.ts';
import { ENV, collectingLog, resolve, root, secondReplica, start } from '../secrets.fixture.ts';

const TIMEOUT = { timeout: 30_000 };
const MASTER = randomBytes(32).toString('hex');
const CANARY = 'canary-0d1f7c5a-that-nobody-may-see';
const withMasterKey = { SWITCHYARD_TOKEN: ENV, SECRETS_MASTER_KEY: MASTER };

async function documents({ host }: TestService) {
  const store = await host.store('secrets');
  const { secrets } = await store.open({ secrets: secretCollection });
  return { of: secrets.for({ tenant: 'default' }), [Symbol.asyncDispose]: () => store.close() };
}

test('sets, resolves, lists and replaces a secret', TIMEOUT, async () => {
  await using app = await start({ env: { ...withMasterKey, OPENAI_API_KEY: 'of the environment' } });
  assert.equal(await resolve(app, 'OPENAI_API_KEY'), 'of the environment');
  const set = await app.bus.call('env.set', { key: 'OPENAI_API_KEY', value: CANARY });
  assert.deepEqual(set, { set: true, key: 'OPENAI_API_KEY', storage: 'encrypted', restarting: true });
  assert.equal(await resolve(app, 'OPENAI_API_KEY'), CANARY);
  const { timestamp, ...created } = await app.nextEvent('secret:modified');
  assert.deepEqual([created, typeof timestamp], [{ secretName: 'OPENAI_API_KEY', action: 'created' }, 'number']);

  await app.bus.call('env.set', { key: 'OPENAI_API_KEY', value: 'another' });
  assert.equal(await resolve(app, 'OPENAI_API_KEY'), 'another');
  assert.equal((await app.nextEvent('secret:modified')).action, 'updated');
  const { secrets } = await app.bus.call('env.list', {});
  assert.deepEqual(
    secrets.map(({ createdAt, updatedAt, ...shown }) => [shown, Number(updatedAt) >= Number(createdAt)]),
    [[{ name: 'OPENAI_API_KEY', source: 'encrypted', provider: 'openai' }, true]],
  );
});

test('no log, event, answer, error or document contains a value in clear text', TIMEOUT, async () => {
  const logs = collectingLog();
  await using data = await tempDir();
  await using app = await start({ env: withMasterKey, log: logs.log, data: data.path });
  logs.log.level = 'trace';
  const seen: unknown[] = [];
  (await app.host.connect('observability')).subscribe('evt.>', (message) => void seen.push(Buffer.from(message.data).toString()));
  seen.push(await app.bus.call('env.set', { key: 'CANARY_KEY', value: CANARY }));
  seen.push(await app.bus.call('env.list', {}));
  for (const key of ['not upper', 'SWITCHYARD_TOKEN', 'SECRETS_MASTER_KEY'])
    await assert.rejects(
      app.bus.call('env.set', { key, value: CANARY }),
      (error: Error) => seen.push(error.message, JSON.stringify(error)) > 0,
    );
  await assert.rejects(
    app.bus.call('env.set', { key: 'A', value: '[REDACTED] ' + CANARY }),
    (error: Error) => seen.push(error.message) > 0,
  );
  await resolve(app, 'CANARY_KEY');
  await app.nextEvent('secret:accessed');
  await using stored = await documents(app);
  seen.push(await stored.of.find({}));
  assert.ok(seen.length >= 9);
  for (const text of [JSON.stringify(seen), logs.text(), ...(await listFiles(data.path))])
    for (const form of [CANARY, Buffer.from(CANARY).toString('base64'), MASTER]) assert.ok(!text.includes(form), text.slice(0, 400));
});

async function listFiles(dir: string): Promise<string[]> {
  return Promise.all(['', '-wal'].map((end) => readFile(`${dir}/store/secrets.db${end}`, 'latin1').catch(() => '')));
}

test('a changed, swapped or restored row fails to decrypt', TIMEOUT, async () => {
  await using app = await start({ env: withMasterKey });
  for (const key of ['A', 'B', 'C']) await app.bus.call('env.set', { key, value: `value of ${key}` });
  await using stored = await documents(app);
  const [a, b] = [await stored.of.get('A'), await stored.of.get('B')];
  assert.ok(a && b);
  await app.bus.call('env.set', { key: 'A', value: 'newer' });
  await stored.of.update({ name: 'A' }, { set: { ciphertext: a.ciphertext } });
  await stored.of.update({ name: 'B' }, { set: { ciphertext: a.ciphertext, version: a.version } });
  await stored.of.update({ name: 'C' }, { set: { ciphertext: b.ciphertext } });
  for (const name of ['A', 'B', 'C']) await assert.rejects(resolve(app, name), { code: 'DATA_LOSS' }, name);
});

test('a wrong or missing master key stops the start, and a rotated one is accepted while replicas serve', TIMEOUT, async () => {
  await using data = await tempDir();
  const next = randomBytes(32).toString('base64');
  {
    await using app = await start({ env: withMasterKey, data: data.path });
    await app.bus.call('env.set', { key: 'A', value: CANARY });
  }
  const without = { SWITCHYARD_TOKEN: ENV };
  await assert.rejects(start({ env: without, data: data.path }), /SECRETS_MASTER_KEY is not set/);
  await assert.rejects(
    start({ env: { ...without, SECRETS_MASTER_KEY: next }, data: data.path }),
    /not the key.*SECRETS_MASTER_KEY_PREVIOUS/,
  );
  const changing = { ...without, SECRETS_MASTER_KEY: next, SECRETS_MASTER_KEY_PREVIOUS: MASTER };
  {
    await using app = await start({ env: changing, data: data.path });
    await using _other = await secondReplica(app);
    assert.equal(await resolve(app, 'A'), CANARY);
  }
  await using after = await start({ env: { ...without, SECRETS_MASTER_KEY: next }, data: data.path });
  assert.equal(await resolve(after, 'A'), CANARY);
});

test('an invalid master key stops the start with a remedy and is not printed', TIMEOUT, async () => {
  for (const key of ['too-short-to-be-one', '0'.repeat(64)])
    await assert.rejects(
      start({ env: { SWITCHYARD_TOKEN: ENV, SECRETS_MASTER_KEY: key } }),
      (error: Error) => /openssl rand/.test(error.message) && !error.message.includes(key),
    );
});

test('without a master key secrets are stored in the env file with a warning, or rejected if there is none', TIMEOUT, async () => {
  await using dir = await tempDir();
  const envFile = `${dir.path}/.env`;
  await writeFile(envFile, '# mine\nlower.case=kept as it is\nGROQ_API_KEY=from-the-file\n');
  const logs = collectingLog();
  await using app = await start({ envFile, log: logs.log, env: { SWITCHYARD_TOKEN: ENV, GROQ_API_KEY: 'of the environment' } });
  assert.ok(logs.lines().some(({ level, msg }) => level === 40 && /SECRETS_MASTER_KEY is not set/.test(String(msg))));
  const value = `with 'quotes', \\n and\na line`;
  const set = await app.bus.call('env.set', { key: 'NEW_KEY', value });
  assert.equal(set.storage, 'envfile');
  assert.equal((await app.nextEvent('secret:modified')).action, 'created');
  assert.deepEqual([await resolve(app, 'NEW_KEY'), await resolve(app, 'GROQ_API_KEY')], [value, 'from-the-file']);
  const { secrets } = await app.bus.call('env.list', {});
  assert.deepEqual(
    secrets.map(({ name, source, provider }) => [name, source, provider]),
    [
      ['GROQ_API_KEY', 'envfile', 'groq'],
      ['NEW_KEY', 'envfile', undefined],
      ['lower.case', 'envfile', undefined],
    ],
  );
  assert.equal((await stat(envFile)).mode & 0o777, 0o600);
  await assert.rejects(app.bus.call('env.set', { key: 'ODD', value: `'"\`` }), { code: 'FAILED_PRECONDITION' });
  assert.equal(await resolve(app, 'NEW_KEY'), value);

  await using bare = await start();
  const refused = { code: 'FAILED_PRECONDITION', message: /SECRETS_MASTER_KEY/ };
  await assert.rejects(bare.bus.call('env.set', { key: 'NEW_KEY', value: 'x' }), refused);
  assert.deepEqual(await bare.bus.call('env.list', {}), { secrets: [], total: 0, truncated: false });
});

test('agents read only names on their allowlist, and services everything except reserved names', TIMEOUT, async () => {
  await using app = await start({ env: { ...withMasterKey, WEATHER_KEY: 'sunny', OTHER_KEY: 'x' } });
  const agents = await (await app.host.connect('registry')).kv(AGENTS_BUCKET);
  const project = (agentId: string, allow: string[], tenant = 'default') => {
    const entry = { agentId, tenant, suspended: false, isDefault: false, config: { secrets: { allow }, name: '${ODD}' } };
    return agents.put(bucketKey(tenant, agentId), Buffer.from(JSON.stringify(entry)));
  };
  await project('oslo', ['WEATHER_*']);
  await project('none', []);
  await project('oslo', ['WEATHER_*'], 'b');
  const sessions = await app.host.connect('sessions');
  const sendRequest = (agent: string, name: string) =>
    createSecretReader(sessions.as(principal({ scopes: ['*'], agent })), 'sessions')(name);
  assert.equal(await sendRequest('oslo', 'WEATHER_KEY'), 'sunny');
  const { timestamp: _, ...read } = await app.nextEvent('secret:accessed');
  assert.deepEqual(read, { secretName: 'WEATHER_KEY', agentId: 'oslo', outcome: 'success' });
  for (const [agent, name] of [
    ['oslo', 'OTHER_KEY'],
    ['none', 'WEATHER_KEY'],
    ['nobody', 'WEATHER_KEY'],
  ] as const) {
    await assert.rejects(sendRequest(agent, name), { code: 'PERMISSION_DENIED' }, agent);
    assert.equal((await app.nextEvent('secret:accessed')).outcome, 'denied');
  }
  const stranger = createSecretReader(sessions.as(principal({ tenant: 'b', scopes: ['*'], agent: 'oslo' })), 'sessions');
  await assert.rejects(stranger('WEATHER_KEY'), { code: 'PERMISSION_DENIED' }, 'secrets belong to the tenant of the installation');
  for (const name of ['SECRETS_MASTER_KEY', 'SWITCHYARD_TOKEN'])
    await assert.rejects(createSecretReader(sessions, 'sessions')(name), (error: Error) => !error.message.includes(MASTER));
});

test('limits a client to five writes and thirty lists a minute over all replicas and restarts', TIMEOUT, async () => {
  await using data = await tempDir();
  {
    await using app = await start({ env: withMasterKey, data: data.path });
    await using _other = await secondReplica(app);
    const done = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => app.bus.call('env.set', { key: `K${n}`, value: 'x' })));
    assert.equal(done.filter(({ status }) => status === 'fulfilled').length, 5);
    for (let n = 0; n < 30; n++) await app.bus.call('env.list', { limit: 1 });
  }
  await using again = await start({ env: withMasterKey, data: data.path });
  for (const call of [() => again.bus.call('env.set', { key: 'A', value: 'x' }), () => again.bus.call('env.list', {})])
    await assert.rejects(call(), ({ code, details }: { code: string; details: Record<string, unknown> }) => {
      assert.deepEqual([code, details['rate'], Number(details['retryAfterMs']) > 0], ['RESOURCE_EXHAUSTED', true, true]);
      return true;
    });
  await again.bus.as(principal({ client: 'another', scopes: ['*'] })).call('env.set', { key: 'A', value: 'x' });
});

test('env.list applies limit and filter, ignoring case', TIMEOUT, async () => {
  await using dir = await tempDir();
  await writeFile(`${dir.path}/.env`, ['A_KEY', 'B_KEY', 'C_TOKEN'].map((name) => `${name}=x`).join('\n'));
  await using app = await start({ envFile: `${dir.path}/.env` });
  const names = async (params: { filter?: string; limit?: number }) => {
    const { secrets, ...rest } = await app.bus.call('env.list', params);
    return [secrets.map(({ name }) => name), rest];
  };
  assert.deepEqual(await names({ filter: '*_key' }), [['A_KEY', 'B_KEY'], { total: 2, truncated: false }]);
  assert.deepEqual(await names({ limit: 1 }), [['A_KEY'], { total: 3, truncated: true }]);
  assert.deepEqual(await names({ filter: 'key' }), [[], { total: 0, truncated: false }]);
});

test('rejects other tenants, and announces a change without the name of the secret', TIMEOUT, async () => {
  await using app = await start({ env: withMasterKey });
  const other = app.bus.as(principal({ tenant: 'other', scopes: ['*'] }));
  await assert.rejects(other.call('env.list', {}), { code: 'PERMISSION_DENIED' });
  await assert.rejects(other.call('env.set', { key: 'A', value: 'x' }), { code: 'PERMISSION_DENIED' });
  const received = Promise.withResolvers<string>();
  await (await app.host.bus.kv(SECRETS_BUCKET)).watch(({ value }) => received.resolve(Buffer.from(value ?? '').toString()));
  await app.bus.as(root).call('env.set', { key: 'A_SECRET_NAME', value: CANARY });
  assert.match(await received.promise, /^\{"at":\d+\}$/);
});
