import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createSecretRecipient } from '@switchyard/service-kit';
import { ENV, collectingLog, start } from '../secrets.fixture.ts';

const env = { SWITCHYARD_TOKEN: ENV, SECRETS_MASTER_KEY: randomBytes(32).toString('hex') };
const envRef = (id: string) => ({ source: 'env', provider: 'default', id }) as const;

test('secrets.webhookKeys returns the secrets that webhooks name, from every source, and no other', async () => {
  const mappings = [{ secret: envRef('OF_MAPPING') }, { secret: 'written beside the mapping, in 40 chars..' }, {}];
  const settings = { webhooks: { token: envRef('OF_ALL'), hmac: { secret: envRef('NOT_SET') }, mappings } };
  await using app = await start({ env: { ...env, OF_ALL: 'of the environment', OPENAI_API_KEY: 'of a provider' }, settings });
  await app.bus.call('env.set', { key: 'OF_MAPPING', value: 'that was set' });
  assert.deepEqual(await requestKeys(app), { OF_ALL: 'of the environment', NOT_SET: null, OF_MAPPING: 'that was set' });
});

/** Requests and decrypts the keys as the gateway does. */
async function requestKeys({ host }: Awaited<ReturnType<typeof start>>): Promise<Record<string, string | null>> {
  const recipient = createSecretRecipient('gateway');
  const to = recipient.createRequest();
  const { keys } = await (await host.connect('gateway')).call('secrets.webhookKeys', { to });
  const decrypted = keys.map(async ({ name, value }) => [name, value === null ? null : await recipient.decrypt(name, value, to)] as const);
  return Object.fromEntries(await Promise.all(decrypted));
}

test('secrets.webhookKeys omits reserved names, and an unreadable secret does not fail the others', async () => {
  const { log, lines } = collectingLog();
  const mappings = ['SECRETS_MASTER_KEY', 'SWITCHYARD_TOKEN', 'UNREADABLE', 'GOOD'].map((id) => ({ secret: envRef(id) }));
  const variables = { ...env, UNREADABLE_FILE: '/there/is/no/such/file', GOOD: 'good' };
  await using app = await start({ env: variables, log, settings: { webhooks: { mappings } } });
  assert.deepEqual(await requestKeys(app), { SECRETS_MASTER_KEY: null, SWITCHYARD_TOKEN: null, UNREADABLE: null, GOOD: 'good' });
  assert.ok(lines().some(({ msg, name }) => msg === 'failed to read a secret' && name === 'UNREADABLE'));
});

test('secrets.webhookKeys answers for the secret of another purpose as for an unknown name', async () => {
  const names = ['OPENAI_API_KEY', 'LAB_KEY', 'SIGNING_KEY', 'HOOK_KEY', 'NOT_SET'];
  const mappings = names.map((id) => ({ secret: envRef(id) }));
  await using app = await start({ env: { ...env, OPENAI_API_KEY: 'of a known one' }, settings: { webhooks: { mappings } } });
  await app.bus.call('env.set', { key: 'LAB_KEY', value: 'of the lab', origins: ['https://models.example'] });
  await app.bus.call('env.set', { key: 'SIGNING_KEY', value: 'of signing', purpose: 'signing' });
  await app.bus.call('env.set', { key: 'HOOK_KEY', value: 'of hooks', purpose: 'webhook' });
  const none = { OPENAI_API_KEY: null, LAB_KEY: null, SIGNING_KEY: null, NOT_SET: null };
  assert.deepEqual(await requestKeys(app), { ...none, HOOK_KEY: 'of hooks' });
});
