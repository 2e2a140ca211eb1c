import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createStorageKeyReader } from '@switchyard/service-kit';
import { tempDir } from '@switchyard/testkit';
import { ENV, start } from '../secrets.fixture.ts';

async function readKey({ host }: Awaited<ReturnType<typeof start>>): Promise<string | undefined> {
  const key = await createStorageKeyReader(await host.connect('browser'), 'browser')();
  return key && Buffer.from(key.bytes).toString('hex');
}

test('secrets.storageKey returns the same key after a restart and after a change of the master key', async () => {
  await using data = await tempDir();
  const [first, second] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
  const env = { SWITCHYARD_TOKEN: ENV, SECRETS_MASTER_KEY: first };
  let key: string | undefined;
  {
    await using app = await start({ env, data: data.path });
    key = await readKey(app);
    assert.match(key ?? '', /^[0-9a-f]{64}$/);
  }
  await using app = await start({ env: { ...env, SECRETS_MASTER_KEY: second, SECRETS_MASTER_KEY_PREVIOUS: first }, data: data.path });
  assert.equal(await readKey(app), key);
});

test('secrets.storageKey returns no key without a master key', async () => {
  await using app = await start();
  assert.equal(await readKey(app), undefined);
});
