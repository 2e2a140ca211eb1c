import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { TOKENS_BUCKET, TokenProjection } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { watchBucket, type Host } from '@switchyard/service-kit';
import { principal, tempDir, testService, type TestService } from '@switchyard/testkit';
import { secrets } from './service.ts';

const ENV = 'e'.repeat(40);
const admin = principal({ client: 'root', scopes: ['*'] });

const start = (options: Partial<Parameters<typeof testService>[1] & object> = {}): Promise<TestService> =>
  testService(secrets, { as: admin, env: { SWITCHYARD_TOKEN: ENV }, ...options });

async function projected({ host }: { host: Host }): Promise<Map<string, TokenProjection>> {
  await using watched = await watchBucket(host.bus, TOKENS_BUCKET, TokenProjection);
  return new Map(watched.entries);
}

test('the environment’s token is there from the start, and its secret is nowhere', async () => {
  await using app = await start();
  const { tokens } = await app.bus.call('tokens.list', {});
  assert.deepEqual(
    tokens.map(({ id, scopes }) => ({ id, scopes })),
    [{ id: 'env', scopes: ['*'] }],
  );
  const seen = await projected(app);
  assert.equal(seen.get('default.env')?.hash, hashToken(ENV));
  assert.ok(!JSON.stringify([tokens, ...seen.values()]).includes(ENV));
});

test('a token is made, shown once, rotated under the same id, and revoked', async () => {
  await using app = await start();
  const made = await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc', 'admin'] });
  assert.match(made.secret, /^sy_pat_/);
  assert.equal((await projected(app)).get('default.ci')?.hash, hashToken(made.secret));

  const rotated = await app.bus.call('tokens.rotate', { id: 'ci' });
  assert.deepEqual({ ...rotated, secret: '' }, { id: 'ci', secret: '', scopes: ['rpc', 'admin'], rotated: true });
  const after = (await projected(app)).get('default.ci');
  assert.equal(after?.hash, hashToken(rotated.secret));
  assert.notEqual(rotated.secret, made.secret);

  assert.deepEqual(await app.bus.call('tokens.revoke', { id: 'ci' }), { id: 'ci', revoked: true });
  assert.equal((await projected(app)).has('default.ci'), false);
  for (const method of ['tokens.revoke', 'tokens.rotate'] as const) {
    await assert.rejects(app.bus.call(method, { id: 'ci' }), { code: 'NOT_FOUND' });
  }
});

test('a token made again under a revoked id has a newer version, so that nothing takes one for the other', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] });
  const before = (await projected(app)).get('default.ci')?.ver ?? 0;
  await app.bus.call('tokens.revoke', { id: 'ci' });
  await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] });
  assert.ok(((await projected(app)).get('default.ci')?.ver ?? 0) > before);
});

test('an id is taken once', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] });
  await assert.rejects(app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] }), { code: 'ALREADY_EXISTS' });
});

test('nobody grants more than they hold', async () => {
  await using app = await start();
  const limited = app.bus.as(principal({ client: 'deputy', scopes: ['admin'] }));
  await assert.rejects(limited.call('tokens.create', { id: 'up', scopes: ['*'] }), { code: 'PERMISSION_DENIED' });
  await assert.rejects(limited.call('tokens.create', { id: 'up', scopes: ['rpc'] }), { code: 'PERMISSION_DENIED' });
  await assert.rejects(limited.call('tokens.rotate', { id: 'env' }), { code: 'PERMISSION_DENIED' });
  await limited.call('tokens.create', { id: 'peer', scopes: ['admin'] });
});

test('mcp-client stands alone', async () => {
  await using app = await start();
  await assert.rejects(app.bus.call('tokens.create', { id: 'mcp', scopes: ['mcp-client', 'rpc'] }), { code: 'INVALID_ARGUMENT' });
  await app.bus.call('tokens.create', { id: 'mcp', scopes: ['mcp-client'] });
});

test('the last token that can manage tokens stays', async () => {
  await using app = await start();
  await assert.rejects(app.bus.call('tokens.revoke', { id: 'env' }), { code: 'FAILED_PRECONDITION', details: { reason: 'LAST_ADMIN' } });
  await app.bus.call('tokens.create', { id: 'second', scopes: ['admin'] });
  await app.bus.call('tokens.revoke', { id: 'env' });
});

test('tokens survive a restart, and the bucket is made anew from them', async () => {
  await using data = await tempDir();
  let secret: string;
  {
    await using app = await start({ data: data.path });
    ({ secret } = await app.bus.call('tokens.create', { id: 'kept', scopes: ['rpc'] }));
  }
  await using again = await start({ data: data.path });
  assert.equal((await projected(again)).get('default.kept')?.hash, hashToken(secret));
});

function configured(secret: string): Promise<TestService> {
  return start({ settings: { gateway: { tokens: [{ id: 'ops', secret, scopes: ['rpc'] }] } } });
}

test('the operator’s tokens come from the configuration, and one too short stops the start', async () => {
  await using app = await configured('o'.repeat(32));
  assert.deepEqual((await projected(app)).get('default.ops')?.scopes, ['rpc']);
  await assert.rejects(configured('short'), /32/);
});

test('a secret is read from the environment or the file it names, and is null when nobody set it', async () => {
  await using dir = await tempDir();
  await writeFile(`${dir.path}/key`, 'from-a-file\n');
  await using app = await start({ env: { SWITCHYARD_TOKEN: ENV, OPENAI_API_KEY: 'sk-env', GROQ_API_KEY_FILE: `${dir.path}/key` } });
  const sessions = await app.host.connect('sessions');
  const resolve = (name: string) => sessions.call('secrets.resolve', { name });
  assert.deepEqual(await Promise.all(['OPENAI_API_KEY', 'GROQ_API_KEY', 'NOBODY_SET_IT'].map(resolve)), [
    { value: 'sk-env' },
    { value: 'from-a-file' },
    { value: null },
  ]);
});

test('a secret whose file cannot be read is said by its name, without the path', async () => {
  await using app = await start({ env: { SWITCHYARD_TOKEN: ENV, OPENAI_API_KEY_FILE: '/nowhere/key' } });
  const sessions = await app.host.connect('sessions');
  await assert.rejects(
    sessions.call('secrets.resolve', { name: 'OPENAI_API_KEY' }),
    (error: Error) => /OPENAI_API_KEY cannot be read/.test(error.message) && !error.message.includes('/nowhere'),
  );
});
