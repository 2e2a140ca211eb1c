import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { hashToken } from '@switchyard/security';
import { principal, tempDir } from '@switchyard/testkit';
import { ENV, collectingLog, projected, resolve, root, start } from './secrets.fixture.ts';

test('the token of the environment exists after startup, and its secret is stored nowhere', async () => {
  await using app = await start();
  const { tokens } = await app.bus.call('tokens.list', {});
  assert.deepEqual(
    tokens.map((token) => ({ ...token, createdAt: '' })),
    [{ id: 'env', scopes: ['*'], createdAt: '', sessions: 'tenant', lenient: false, declared: 'SWITCHYARD_TOKEN' }],
  );
  const seen = await projected(app);
  assert.equal(seen.get('default.env')?.hash, hashToken(ENV));
  assert.ok(!JSON.stringify([tokens, ...seen.values()]).includes(ENV));
});

test('creates, rotates and revokes a token, and returns each secret once', async () => {
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

test('a token under a reused id is another client with a newer version', async () => {
  await using app = await start();
  const make = async (): Promise<string> => (await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] })).secret;
  const seen = async () => (await projected(app)).get('default.ci');
  await make();
  const first = await seen();
  await app.bus.call('tokens.rotate', { id: 'ci' });
  const rotated = await seen();
  await app.bus.call('tokens.revoke', { id: 'ci' });
  const secret = await make();
  const second = await seen();
  await app.bus.call('tokens.revoke', { id: 'ci' });
  await make();
  assert.deepEqual([first?.client, rotated?.client, second?.client, (await seen())?.client], ['ci', 'ci', 'ci=2', 'ci=3']);
  assert.ok((second?.ver ?? 0) > (rotated?.ver ?? 0) && (rotated?.ver ?? 0) > (first?.ver ?? 0));
  assert.equal(second?.hash, hashToken(secret));
});

test('one of several concurrent tokens.create calls for a revoked id succeeds', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] });
  await app.bus.call('tokens.revoke', { id: 'ci' });
  const createdItems = await Promise.allSettled(
    Array.from({ length: 20 }, () => app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] })),
  );
  const won = createdItems.filter(({ status }) => status === 'fulfilled');
  assert.equal(won.length, 1);
  assert.equal((await projected(app)).get('default.ci')?.client, 'ci=2');
});

test('ids with dots, colons and at signs have distinct bucket keys', async () => {
  await using app = await start();
  const ids = ['a.b', 'a..b', '.', ':', 'ops@acme.eu', 'x'.repeat(128)];
  for (const id of ids) await app.bus.call('tokens.create', { id, scopes: ['rpc'] });
  const seen = await projected(app);
  assert.deepEqual([...seen.values()].map(({ id }) => id).sort(), [...ids, 'env'].sort());
  for (const id of ['a=2eb', 'x'.repeat(129), 'ü', '']) {
    await assert.rejects(app.bus.call('tokens.create', { id, scopes: ['rpc'] }), { code: 'INVALID_ARGUMENT' }, id);
  }
  await app.bus.call('tokens.revoke', { id: 'a.b' });
  assert.ok(!(await projected(app)).has('default.a=2eb'));
});

test('tokens.create rejects an existing id', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] });
  await assert.rejects(app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] }), { code: 'ALREADY_EXISTS' });
});

test('a token cannot grant, rotate or revoke more rights than its own', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'user', scopes: ['rpc'] });
  const limited = app.bus.as(principal({ client: 'deputy', scopes: ['admin'] }));
  const denied = { code: 'PERMISSION_DENIED' };
  await assert.rejects(limited.call('tokens.create', { id: 'up', scopes: ['*'] }), denied);
  await assert.rejects(limited.call('tokens.create', { id: 'up', scopes: ['rpc'] }), denied);
  for (const id of ['env', 'user']) {
    await assert.rejects(limited.call('tokens.rotate', { id }), denied);
    await assert.rejects(limited.call('tokens.revoke', { id }), denied);
  }
  await limited.call('tokens.create', { id: 'peer', scopes: ['admin'] });
  await limited.call('tokens.revoke', { id: 'peer' });
});

test('a token limited to its own sessions cannot manage tokens without that limit', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'wide', scopes: ['rpc'] });
  const own = app.bus.as(principal({ client: 'own', scopes: ['*'], sessions: 'own' }));
  const denied = { code: 'PERMISSION_DENIED', message: /sessions: "own"/ };
  await assert.rejects(own.call('tokens.create', { id: 'up', scopes: ['rpc'] }), denied);
  await assert.rejects(own.call('tokens.rotate', { id: 'wide' }), denied);
  await assert.rejects(own.call('tokens.revoke', { id: 'wide' }), denied);
  await own.call('tokens.create', { id: 'peer', scopes: ['rpc'], sessions: 'own' });
  await own.call('tokens.revoke', { id: 'peer' });
});

test('sessions and lenient are listed, projected and kept by a rotation', async () => {
  await using app = await start();
  await app.bus.call('tokens.create', { id: 'app', scopes: ['rpc'], sessions: 'own', lenient: true });
  await app.bus.call('tokens.rotate', { id: 'app' });
  const listed = (await app.bus.call('tokens.list', {})).tokens.find(({ id }) => id === 'app');
  const seen = (await projected(app)).get('default.app');
  for (const { sessions, lenient } of [listed, seen].map((token) => token ?? assert.fail('it is not there'))) {
    assert.deepEqual([sessions, lenient], ['own', true]);
  }
});

test('budgets are listed, projected, kept by a rotation and removed with the token; a token with budgets cannot manage tokens', async () => {
  await using app = await start();
  const budgets = { perHour: 1_000, perDayUsd: 0.5 };
  await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'], budgets });
  await app.bus.call('tokens.rotate', { id: 'ci' });
  assert.deepEqual((await app.bus.call('tokens.list', {})).tokens.find(({ id }) => id === 'ci')?.budgets, budgets);
  assert.deepEqual((await projected(app)).get('default.ci')?.budgets, budgets);
  const limited = app.bus.as({ ...root, client: 'limited', budgets });
  const denied = { code: 'PERMISSION_DENIED' };
  await assert.rejects(limited.call('tokens.create', { id: 'more', scopes: ['rpc'] }), denied);
  await assert.rejects(limited.call('tokens.rotate', { id: 'ci' }), denied);
  await app.bus.call('tokens.revoke', { id: 'ci' });
  await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] });
  assert.equal((await projected(app)).get('default.ci')?.budgets, undefined);
});

test('token changes are logged with the client and without secrets', async () => {
  const logs = collectingLog();
  await using app = await start({ log: logs.log });
  const secrets = [ENV, (await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] })).secret];
  secrets.push((await app.bus.call('tokens.rotate', { id: 'ci' })).secret);
  await app.bus.call('tokens.revoke', { id: 'ci' });
  const lines = logs.lines().filter(({ tokenId }) => tokenId !== undefined);
  assert.deepEqual(
    lines.map(({ client, msg, tokenId, scopes }) => [client, msg, tokenId, scopes]),
    [
      ['the operator', 'a token is declared', 'env', ['*']],
      ['root', 'a token was created', 'ci', ['rpc']],
      ['root', 'a token was rotated', 'ci', ['rpc']],
      ['root', 'a token was revoked', 'ci', ['rpc']],
    ],
  );
  assert.ok(lines.every(({ level, tenant }) => Number(level) >= 30 && tenant === 'default'));
  for (const secret of secrets) assert.ok(!logs.text().includes(secret) && !logs.text().includes(hashToken(secret)));
});

test('rejects mcp-client together with other scopes', async () => {
  await using app = await start();
  await assert.rejects(app.bus.call('tokens.create', { id: 'mcp', scopes: ['mcp-client', 'rpc'] }), { code: 'INVALID_ARGUMENT' });
  await app.bus.call('tokens.create', { id: 'mcp', scopes: ['mcp-client'] });
});

test('mcpClient is listed and projected, and not inherited under a reused id', async () => {
  await using app = await start();
  const mcpClient = { allowlist: ['agent_*'], sessionAllowlist: [], toolRateLimit: { 'memory.search': 5, $x: 1 } };
  const outcome = async () => {
    const listed = (await app.bus.call('tokens.list', {})).tokens.find(({ id }) => id === 'editor');
    return [listed?.mcpClient, (await projected(app)).get('default.editor')?.mcpClient];
  };
  await app.bus.call('tokens.create', { id: 'editor', scopes: ['mcp-client'], mcpClient });
  assert.deepEqual(await outcome(), [mcpClient, mcpClient]);
  await app.bus.call('tokens.rotate', { id: 'editor' });
  assert.deepEqual(await outcome(), [mcpClient, mcpClient]);
  await app.bus.call('tokens.revoke', { id: 'editor' });
  await app.bus.call('tokens.create', { id: 'editor', scopes: ['mcp-client'] });
  assert.deepEqual(await outcome(), [undefined, undefined]);
  await assert.rejects(app.bus.call('tokens.create', { id: 'other', scopes: ['rpc'], mcpClient }), {
    code: 'INVALID_ARGUMENT',
    message: 'Invalid params: mcpClient: expected the scope mcp-client, got other scopes',
  });
});

test('tokens survive a restart, and the bucket is rebuilt from them', async () => {
  await using data = await tempDir();
  let secret: string;
  {
    await using app = await start({ data: data.path });
    ({ secret } = await app.bus.call('tokens.create', { id: 'kept', scopes: ['rpc'] }));
  }
  await using again = await start({ data: data.path });
  assert.equal((await projected(again)).get('default.kept')?.hash, hashToken(secret));
});

test('secrets.resolve reads the environment or the named file, and returns null for an unset name', async () => {
  await using dir = await tempDir();
  await writeFile(`${dir.path}/key`, 'from-a-file\n');
  await using app = await start({ env: { SWITCHYARD_TOKEN: ENV, OPENAI_API_KEY: 'sk-env', GROQ_API_KEY_FILE: `${dir.path}/key` } });
  const names = ['OPENAI_API_KEY', 'GROQ_API_KEY', 'NOBODY_SET_IT'];
  assert.deepEqual(await Promise.all(names.map((name) => resolve(app, name))), ['sk-env', 'from-a-file', null]);
});

test('the error for an unreadable secret file contains its name and not its path', async () => {
  await using app = await start({ env: { SWITCHYARD_TOKEN: ENV, OPENAI_API_KEY_FILE: '/nowhere/key' } });
  await assert.rejects(
    resolve(app, 'OPENAI_API_KEY'),
    (error: Error) => /OPENAI_API_KEY cannot be read/.test(error.message) && !error.message.includes('/nowhere'),
  );
});
