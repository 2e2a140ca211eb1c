import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { ENV, resolve, start } from '../secrets.fixture.ts';

const TIMEOUT = { timeout: 30_000 };
const TOKEN = 'ANTHROPIC_WORK_OAUTH_TOKEN';
const withMasterKey = { SWITCHYARD_TOKEN: ENV, SECRETS_MASTER_KEY: randomBytes(32).toString('hex') };

test('oauth.storage: encrypted requires encrypted storage for OAuth tokens and ignores clear text', TIMEOUT, async () => {
  await using dir = await tempDir();
  const envFile = `${dir.path}/.env`;
  const env = { SWITCHYARD_TOKEN: ENV, [TOKEN]: 'of the environment', PLAIN_KEY: 'plain' };
  {
    await using app = await start({ envFile, env });
    assert.equal(await resolve(app, TOKEN), 'of the environment');
    assert.equal((await app.bus.call('env.set', { key: TOKEN, value: 'of the file' })).storage, 'envfile');
    assert.equal(await resolve(app, TOKEN), 'of the file');
  }
  const settings = { oauth: { storage: 'encrypted' as const } };
  {
    await using app = await start({ envFile, env, settings });
    assert.deepEqual([await resolve(app, TOKEN), await resolve(app, 'PLAIN_KEY')], [null, 'plain']);
    const refused = {
      code: 'FAILED_PRECONDITION',
      message: /^oauth\.storage is encrypted, and the master key is missing\. .*SECRETS_MASTER_KEY/,
    };
    await assert.rejects(app.bus.call('env.set', { key: TOKEN, value: 'x' }), refused);
    assert.equal((await app.bus.call('env.set', { key: 'OTHER_KEY', value: 'x' })).storage, 'envfile');
  }
  await using app = await start({ envFile, env: { ...env, ...withMasterKey }, settings });
  assert.equal(await resolve(app, TOKEN), null);
  assert.equal((await app.bus.call('env.set', { key: TOKEN, value: 'sealed' })).storage, 'encrypted');
  assert.equal(await resolve(app, TOKEN), 'sealed');
});

test('security.secrets.enabled requires a master key at startup', TIMEOUT, async () => {
  await using dir = await tempDir();
  const envFile = `${dir.path}/.env`;
  await writeFile(envFile, 'FILED_KEY=clear\n');
  const settings = { security: { secrets: { enabled: true } } };
  await assert.rejects(start({ envFile, settings }), /^StartError: security\.secrets\.enabled is true, and the master key is missing/);
  await using app = await start({ envFile, settings, env: { ...withMasterKey, GIVEN_KEY: 'given' } });
  assert.deepEqual([await resolve(app, 'FILED_KEY'), await resolve(app, 'GIVEN_KEY')], [null, 'given']);
});

test('security.secrets.dbPath selects the database file, and a changed path fails while the old file exists', TIMEOUT, async () => {
  await using data = await tempDir();
  await using elsewhere = await tempDir();
  const usual = join(data.path, 'store/secrets.db');
  const moved = join(elsewhere.path, 'kept.db');
  const at = (dbPath?: string) =>
    start({ data: data.path, env: withMasterKey, ...(dbPath === undefined ? {} : { settings: { security: { secrets: { dbPath } } } }) });
  {
    await using app = await at();
    await app.bus.call('env.set', { key: 'KEPT_KEY', value: 'kept' });
  }
  await assert.rejects(
    at(moved),
    (error: Error) => error.message.startsWith('security.secrets.dbPath sets the store to') && error.message.includes(usual),
  );
  assert.ok(!existsSync(moved));
  renameSync(usual, moved);
  {
    await using app = await at(moved);
    assert.equal(await resolve(app, 'KEPT_KEY'), 'kept');
    assert.ok(!existsSync(usual));
    await using other = await tempDir();
    const second = start({ data: other.path, env: withMasterKey, settings: { security: { secrets: { dbPath: moved } } } });
    await assert.rejects(second, /is in use by process/);
  }
  await assert.rejects(at(), /sets the store to .*secrets\.db, which does not exist/);
  await using within = await tempDir();
  await using app = await start({ data: within.path, env: withMasterKey, settings: { security: { secrets: { dbPath: 'own/safe.db' } } } });
  assert.ok(existsSync(join(within.path, 'own/safe.db')));
  assert.equal(await resolve(app, 'KEPT_KEY'), null);
});
