import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { CONFIG_BUCKET, type ConfigurationPatch, type ServiceError } from '@switchyard/contracts';
import { createSecretReader } from '@switchyard/service-kit';
import { principal, tempDir, type TestService } from '@switchyard/testkit';
import { ENV, secondReplica, start } from '../secrets.fixture.ts';

const TIMEOUT = { timeout: 30_000 };
const HOME = 'https://models.example';
const ELSEWHERE = 'https://elsewhere.example';
const REFUSED = { code: 'PERMISSION_DENIED', details: { reason: 'KEY_ORIGIN' } };
const env = { SWITCHYARD_TOKEN: ENV, SECRETS_MASTER_KEY: randomBytes(32).toString('hex'), LOCAL_API_KEY: 'of the environment' };

async function readAt(app: TestService, origin: string, name = 'LOCAL_API_KEY'): Promise<string | null> {
  return createSecretReader(await app.host.connect('sessions'), 'sessions')(name, origin, 'provider');
}

function entry(baseUrl: string): ConfigurationPatch {
  return { providers: { entries: { local: { type: 'openai-compatible', baseUrl, apiKeyName: 'LOCAL_API_KEY' } } } };
}

/** Changes the configuration as the registry does. */
async function configure(app: TestService, layer: ConfigurationPatch): Promise<void> {
  const bucket = await (await app.host.connect('registry')).kv(CONFIG_BUCKET);
  const entry = { sha: 'a'.repeat(40), layer, at: 1, by: 'ops' };
  const revision = await bucket.put('head', Buffer.from(JSON.stringify(entry)));
  while (app.host.settings.revision < revision) await new Promise((tick) => setImmediate(tick));
}

test('refuses an unbound key with the way to bind it, also on the first request', TIMEOUT, async () => {
  await using app = await start({ env });
  const message = /LOCAL_API_KEY is not bound .* switchyard env set LOCAL_API_KEY --purpose provider --origin https:\/\/models\.example /;
  await assert.rejects(readAt(app, HOME), { ...REFUSED, message });
  await assert.rejects(readAt(app, HOME), REFUSED, 'the first request binds nothing');
  await app.bus.call('env.set', { key: 'LOCAL_API_KEY', value: 'a new one' });
  await assert.rejects(readAt(app, HOME), REFUSED, 'a value without origins is unbound');
  assert.equal((await app.nextEvent('secret:accessed')).outcome, 'denied');
});

test('a key goes only to the origins that were set with it, also after a restart', TIMEOUT, async () => {
  await using dir = await tempDir();
  {
    await using app = await start({ env, data: dir.path });
    await app.bus.call('env.set', { key: 'LOCAL_API_KEY', value: 'one', origins: [HOME] });
  }
  await using app = await start({ env, data: dir.path });
  await using _other = await secondReplica(app);
  assert.equal(await readAt(app, HOME), 'one');
  for (const near of [ELSEWHERE, 'http://models.example', 'https://models.example:8443', 'https://eu.models.example'])
    await assert.rejects(readAt(app, near), REFUSED, near);
  await app.bus.call('env.set', { key: 'LOCAL_API_KEY', value: 'two' });
  assert.equal(await readAt(app, HOME), 'two', 'a new value keeps the binding');
  await assert.rejects(readAt(app, ELSEWHERE), REFUSED);
  await app.bus.call('env.set', { key: 'LOCAL_API_KEY', value: 'three', purpose: 'provider', origins: [ELSEWHERE] });
  assert.equal(await readAt(app, ELSEWHERE), 'three');
  await assert.rejects(readAt(app, HOME), REFUSED);
});

test('a key of a known provider is bound to the published origin', TIMEOUT, async () => {
  await using app = await start({ env: { ...env, ANTHROPIC_API_KEY: 'of the environment' } });
  assert.equal(await readAt(app, 'https://api.anthropic.com', 'ANTHROPIC_API_KEY'), 'of the environment');
  await app.bus.call('env.set', { key: 'ANTHROPIC_WORK_OAUTH_TOKEN', value: 'profile' });
  assert.equal(await readAt(app, 'https://api.anthropic.com', 'ANTHROPIC_WORK_OAUTH_TOKEN'), 'profile');
  for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_WORK_OAUTH_TOKEN']) await assert.rejects(readAt(app, ELSEWHERE, name), REFUSED, name);
});

test('a secret is refused for every purpose but its own', TIMEOUT, async () => {
  await using app = await start({ env });
  const read = createSecretReader(await app.host.connect('sessions'), 'sessions');
  const purposes = ['provider', 'webhook', 'signing', 'tool'] as const;
  for (const purpose of purposes) {
    const origins = purpose === 'provider' ? { origins: [HOME] } : {};
    await app.bus.as(principal({ client: purpose })).call('env.set', { key: 'SHARED_KEY', value: `for ${purpose}`, purpose, ...origins });
    for (const use of purposes) {
      const request = read('SHARED_KEY', use === 'provider' ? HOME : undefined, use);
      if (use === purpose) assert.equal(await request, `for ${purpose}`);
      else await assert.rejects(request, REFUSED, `${purpose} as ${use}`);
    }
  }
});

test('an unknown name and a forbidden name get the same answer', TIMEOUT, async () => {
  await using app = await start({ env });
  await app.bus.call('env.set', { key: 'HOOK_KEY', value: 'signs', purpose: 'webhook' });
  await app.bus.call('env.set', { key: 'LAB_KEY', value: 'key', origins: [HOME] });
  const answers = await Promise.all(
    ['HOOK_KEY', 'LAB_KEY', 'NO_SUCH_KEY', 'LOCAL_API_KEY'].map((name) =>
      readAt(app, ELSEWHERE, name).catch((error: ServiceError) => [error.code, error.details, error.message.replaceAll(name, 'NAME')]),
    ),
  );
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
});

test('env.set rejects incomplete bindings', TIMEOUT, async () => {
  await using app = await start({ env });
  const set = (key: string, binding: object) => app.bus.call('env.set', { key, value: 'v', ...binding });
  const invalid = { code: 'INVALID_ARGUMENT' };
  await assert.rejects(set('LAB_KEY', { purpose: 'provider' }), { ...invalid, message: /origins: expected the origin of the provider/ });
  await assert.rejects(set('LAB_KEY', { purpose: 'signing', origins: [HOME] }), { ...invalid, message: /expected none/ });
  await assert.rejects(set('OPENAI_API_KEY', { origins: [HOME] }), { ...invalid, message: /only sent to https:\/\/api\.openai\.com/ });
  for (const origin of ['http://models.example', `${HOME}/v1`, `${HOME}/`, 'ftp://models.example', 'https://user@models.example'])
    await assert.rejects(set('LAB_KEY', { origins: [origin] }), invalid, origin);
});

test('the file of the operator binds a key, and a changed configuration does not', TIMEOUT, async () => {
  await using app = await start({ env: { ...env, OTHER_API_KEY: 'x' }, settings: entry(`${HOME}/v1`) });
  assert.equal(await readAt(app, HOME), 'of the environment');
  await configure(app, entry(`${ELSEWHERE}/v1`));
  await assert.rejects(readAt(app, ELSEWHERE), REFUSED);
  await configure(app, {
    providers: { entries: { 'a.b': { type: 'openai-compatible', baseUrl: ELSEWHERE, apiKeyName: 'LOCAL_API_KEY' } } },
  });
  await assert.rejects(readAt(app, ELSEWHERE), REFUSED, 'under any provider id');
  await configure(app, { providers: { entries: { local: { apiKeyName: 'OTHER_API_KEY' } } } });
  await assert.rejects(readAt(app, HOME, 'OTHER_API_KEY'), REFUSED, 'a changed key name at the address of the file');
});

test('a secret of the browser is read for the origins that were set with it, and for nothing else', TIMEOUT, async () => {
  await using app = await start({ env });
  const read = createSecretReader(await app.host.connect('browser'), 'browser');
  await assert.rejects(app.bus.call('env.set', { key: 'SITE_PASSWORD', value: 'hunter2', purpose: 'browser' }), {
    code: 'INVALID_ARGUMENT',
  });
  await app.bus.call('env.set', { key: 'SITE_PASSWORD', value: 'hunter2', purpose: 'browser', origins: [HOME] });
  await app.bus.call('env.set', { key: 'UNBOUND', value: 'hunter3' });
  assert.equal(await read('SITE_PASSWORD', HOME, 'browser'), 'hunter2');
  await assert.rejects(read('SITE_PASSWORD', ELSEWHERE, 'browser'), REFUSED);
  await assert.rejects(read('SITE_PASSWORD', undefined, 'browser'), REFUSED);
  await assert.rejects(read('SITE_PASSWORD', HOME, 'tool'), REFUSED);
  await assert.rejects(read('UNBOUND', HOME, 'browser'), REFUSED);
  const elsewhere = createSecretReader((await app.host.connect('browser')).as(principal({ tenant: 'elsewhere' })), 'browser');
  await assert.rejects(elsewhere('SITE_PASSWORD', HOME, 'browser'), { code: 'PERMISSION_DENIED', message: /another tenant/ });
});
