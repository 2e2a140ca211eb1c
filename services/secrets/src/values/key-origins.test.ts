import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { CONFIG_BUCKET, type ConfigurationPatch } from '@switchyard/contracts';
import { createSecretReader } from '@switchyard/service-kit';
import { tempDir, type TestService } from '@switchyard/testkit';
import { ENV, resolve, secondReplica, start } from '../secrets.fixture.ts';

const TIMEOUT = { timeout: 30_000 };
const HOME = 'https://models.example';
const ELSEWHERE = 'https://elsewhere.example';
const MOVED = { code: 'PERMISSION_DENIED', details: { reason: 'KEY_ORIGIN' } };
const env = { SWITCHYARD_TOKEN: ENV, SECRETS_MASTER_KEY: randomBytes(32).toString('hex'), LOCAL_API_KEY: 'of the environment' };

async function readAt(app: TestService, origin: string, name = 'LOCAL_API_KEY'): Promise<string | null> {
  return createSecretReader(await app.host.connect('sessions'), 'sessions')(name, origin);
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

test('a key is bound to the first requested origin until it is set again', TIMEOUT, async () => {
  await using dir = await tempDir();
  {
    await using app = await start({ env, data: dir.path });
    assert.equal(await readAt(app, HOME), 'of the environment');
    assert.equal(await readAt(app, HOME), 'of the environment');
    await assert.rejects(readAt(app, ELSEWHERE), {
      ...MOVED,
      message: /LOCAL_API_KEY is bound to https:\/\/models\.example and is not sent/,
    });
    for (const near of ['http://models.example', 'https://models.example:8443', 'https://eu.models.example'])
      await assert.rejects(readAt(app, near), MOVED, near);
    assert.equal((await app.nextEvent('secret:accessed')).outcome, 'success');
    assert.equal((await app.nextEvent('secret:accessed')).outcome, 'denied');
  }
  await using app = await start({ env, data: dir.path });
  await using _other = await secondReplica(app);
  await assert.rejects(readAt(app, ELSEWHERE), MOVED, 'also after a restart');
  await app.bus.call('env.set', { key: 'LOCAL_API_KEY', value: 'a new one' });
  assert.equal(await readAt(app, ELSEWHERE), 'a new one');
  await assert.rejects(readAt(app, HOME), MOVED);
  assert.equal(await resolve(app, 'LOCAL_API_KEY'), 'a new one', 'a secret that is not a provider key has no origin');
});

test('concurrent first requests bind a key to one origin', TIMEOUT, async () => {
  await using app = await start({ env });
  await using _other = await secondReplica(app);
  const asked = Array.from({ length: 20 }, (_, n) => readAt(app, `https://host-${n % 4}.example`).then(() => n % 4));
  const done = await Promise.allSettled(asked);
  assert.equal(new Set(done.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))).size, 1);
});

test('a changed configuration does not move a key; a declared address is allowed', TIMEOUT, async () => {
  await using app = await start({ env, settings: entry(`${HOME}/v1`) });
  assert.equal(await readAt(app, HOME), 'of the environment');
  await configure(app, entry(`${ELSEWHERE}/v1`));
  await assert.rejects(readAt(app, ELSEWHERE), MOVED);
  await configure(app, {
    providers: { entries: { 'a.b': { type: 'openai-compatible', baseUrl: ELSEWHERE, apiKeyName: 'LOCAL_API_KEY' } } },
  });
  await assert.rejects(readAt(app, ELSEWHERE), MOVED, 'under any provider id');
});

test('a declared address allows only the key that the declaration names', TIMEOUT, async () => {
  await using dir = await tempDir();
  {
    await using app = await start({ env, data: dir.path, settings: entry(HOME) });
    await readAt(app, HOME);
    await readAt(app, HOME, 'OTHER_API_KEY');
  }
  await using app = await start({ env: { ...env, OTHER_API_KEY: 'x' }, data: dir.path, settings: entry(ELSEWHERE) });
  assert.equal(await readAt(app, ELSEWHERE), 'of the environment');
  await configure(app, { providers: { entries: { local: { apiKeyName: 'OTHER_API_KEY' } } } });
  await assert.rejects(readAt(app, ELSEWHERE, 'OTHER_API_KEY'), MOVED);
});
