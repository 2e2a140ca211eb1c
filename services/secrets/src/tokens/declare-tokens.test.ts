import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { McpClient } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { tempDir } from '@switchyard/testkit';
import { getClientId } from './grant-rules.ts';
import { ENV, openData, projected, root, secondReplica, start, stored } from '../secrets.fixture.ts';

const OPS = 'o'.repeat(40);
const OTHER = 'p'.repeat(40);

type Token = {
  id: string;
  secret: string | { source: 'env'; provider: string; id: string };
  scopes?: ('rpc' | '*' | 'mcp-client')[];
  sessions?: 'own';
  lenient?: boolean;
  mcpClient?: Partial<McpClient>;
};
const configured = (...tokens: Token[]) => ({
  settings: { gateway: { tokens: tokens.map((token) => ({ scopes: ['rpc' as const], ...token })) } },
});
const ops = { id: 'ops', secret: OPS };

/** Starts the service on the documents and stops it at once. */
async function startOnce(data: string, options: Parameters<typeof start>[0] = {}): Promise<void> {
  await (await start({ data, ...options }))[Symbol.asyncDispose]();
}

test('rotating or revoking a declared token fails and names its declaration', async () => {
  await using dir = await tempDir();
  const [secret, file] = [`${dir.path}/secret`, `${dir.path}/config.yaml`];
  await writeFile(secret, ENV);
  await writeFile(
    file,
    JSON.stringify({
      gateway: {
        tokens: [
          { ...ops, scopes: ['rpc'] },
          { id: 'ref', secret: { source: 'env', provider: 'env', id: 'REF' }, scopes: ['rpc'] },
        ],
      },
    }),
  );
  const json = JSON.stringify([{ ...ops, scopes: ['rpc'] }]);
  const cases: [env: Record<string, string>, id: string, place: string][] = [
    [{ SWITCHYARD_TOKEN: ENV }, 'env', 'SWITCHYARD_TOKEN'],
    [{ SWITCHYARD_TOKEN_FILE: secret }, 'env', 'SWITCHYARD_TOKEN_FILE'],
    [{ SWITCHYARD_CONFIG: file, REF: OTHER }, 'ops', `gateway.tokens in ${file}`],
    [{ SWITCHYARD_CONFIG: file, REF: OTHER }, 'ref', `gateway.tokens in ${file}, with its secret in REF`],
    [{ SWITCHYARD_GATEWAY__TOKENS: json }, 'ops', 'SWITCHYARD_GATEWAY__TOKENS'],
  ];
  for (const [env, id, place] of cases) {
    await using app = await start({ env });
    assert.equal((await app.bus.call('tokens.list', {})).tokens.find((token) => token.id === id)?.declared, place);
    for (const method of ['tokens.rotate', 'tokens.revoke'] as const) {
      await assert.rejects(app.bus.call(method, { id }), (error: Error & { code?: string; details?: object }) => {
        assert.equal(error.code, 'FAILED_PRECONDITION');
        assert.deepEqual(error.details, { reason: 'DECLARED', declared: place });
        return error.message.includes(place);
      });
    }
  }
});

test('a start applies declared scopes, sessions, leniency and a new secret', async () => {
  await using data = await tempDir();
  {
    await using app = await start({ data: data.path, ...configured({ ...ops, sessions: 'own', lenient: true }) });
    const seen = (await projected(app)).get('default.ops');
    assert.deepEqual([seen?.hash, seen?.scopes, seen?.sessions, seen?.lenient], [hashToken(OPS), ['rpc'], 'own', true]);
  }
  await using app = await start({ data: data.path, ...configured({ ...ops, secret: OTHER }) });
  const seen = (await projected(app)).get('default.ops');
  assert.deepEqual([seen?.hash, seen?.client, seen?.sessions, seen?.lenient], [hashToken(OTHER), 'ops', 'tenant', false]);
});

test('a start applies declared mcpClient, only with the scope mcp-client', async () => {
  await using data = await tempDir();
  const seen = async (...tokens: Token[]) => {
    await using app = await start({ data: data.path, ...configured(...tokens) });
    return (await projected(app)).get('default.ops')?.mcpClient;
  };
  const mcp: Token = { ...ops, scopes: ['mcp-client'] };
  const overrides = { allowlist: ['memory_search'], sessionAllowlist: [], toolRateLimit: {} };
  assert.deepEqual(await seen({ ...mcp, mcpClient: overrides }), overrides);
  assert.deepEqual(await seen({ ...mcp, mcpClient: { ...overrides, allowlist: ['*'] } }), { ...overrides, allowlist: ['*'] });
  assert.equal(await seen(mcp), undefined);
  await assert.rejects(seen({ ...ops, mcpClient: overrides }), {
    message: 'gateway.tokens: the token "ops": mcpClient: expected the scope mcp-client, got other scopes.',
  });
});

test('a start revokes a token that is no longer declared, and the same secret restores the same client', async () => {
  await using data = await tempDir();
  const client = async (options: Parameters<typeof start>[0] = {}): Promise<string | undefined> => {
    await using app = await start({ data: data.path, ...options });
    return (await projected(app)).get('default.ops')?.client;
  };
  assert.equal(await client(configured(ops)), 'ops');
  assert.equal(await client(), undefined);
  assert.equal(await client(configured(ops)), 'ops');
  assert.equal(await client(), undefined);
  assert.equal(await client(configured({ ...ops, secret: OTHER })), 'ops=2');
});

test('a declared secret can move to another id', async () => {
  await using data = await tempDir();
  await startOnce(data.path, configured(ops));
  await using app = await start({ data: data.path, ...configured({ ...ops, id: 'renamed' }) });
  assert.deepEqual([...(await projected(app)).keys()].sort(), ['default.env', 'default.renamed']);
});

test('declared tokens belong to the configured tenant and follow a change of it', async () => {
  await using data = await tempDir();
  await startOnce(data.path, configured(ops));
  const settings = { ...configured(ops).settings, tenantId: 'acme' };
  await using app = await start({ data: data.path, settings });
  assert.deepEqual([...(await projected(app)).keys()].sort(), ['acme.env', 'acme.ops']);
});

test('a start fails rather than replace a minted token', async () => {
  await using data = await tempDir();
  let minted: string;
  {
    await using app = await start({ data: data.path });
    ({ secret: minted } = await app.bus.call('tokens.create', { id: 'ops', scopes: ['rpc'] }));
  }
  const refused = { name: 'StartError', message: /"ops", which was minted by root. Choose another id, or revoke that token first/ };
  await assert.rejects(startOnce(data.path, configured(ops)), refused);
  await assert.rejects(startOnce(data.path, configured({ ...ops, id: 'other', secret: minted })), {
    name: 'StartError',
    message: /belongs to the minted token "ops"/,
  });
  await assert.rejects(startOnce(data.path, configured({ ...ops, secret: minted, scopes: ['*'] })), refused);
  await using app = await start({ data: data.path });
  assert.equal((await projected(app)).get('default.ops')?.hash, hashToken(minted));
});

test('a minted token that is also declared becomes minted again when the declaration is removed', async () => {
  await using data = await tempDir();
  const declared = async (options: Parameters<typeof start>[0]): Promise<unknown[]> => {
    await using app = await start({ data: data.path, ...options });
    return (await app.bus.call('tokens.list', {})).tokens.map((token) => [token.id, token.declared]);
  };
  let minted: string;
  {
    await using app = await start({ data: data.path, env: {} });
    ({ secret: minted } = await app.bus.call('tokens.create', { id: 'laptop', scopes: ['*'] }));
  }
  assert.deepEqual(await declared({ env: { SWITCHYARD_TOKEN: minted } }), [['laptop', 'SWITCHYARD_TOKEN']]);
  assert.deepEqual(await declared({ env: {} }), [['laptop', undefined]]);
});

test('a start rejects a declared secret that was revoked or rotated away', async () => {
  await using data = await tempDir();
  const spent: string[] = [];
  {
    await using app = await start({ data: data.path });
    spent.push((await app.bus.call('tokens.create', { id: 'a', scopes: ['*'] })).secret);
    spent.push((await app.bus.call('tokens.rotate', { id: 'a' })).secret);
    spent.push((await app.bus.call('tokens.rotate', { id: 'a' })).secret);
    await app.bus.call('tokens.revoke', { id: 'a' });
  }
  for (const secret of spent) {
    const refused = { name: 'StartError', message: /The secret in SWITCHYARD_TOKEN was revoked or rotated away \(as "a"\)/ };
    await assert.rejects(startOnce(data.path, { env: { SWITCHYARD_TOKEN: secret } }), refused);
  }
});

test('tokens.create rejects the reserved id of the environment', async () => {
  await using app = await start({ env: {} });
  await assert.rejects(app.bus.call('tokens.create', { id: 'env', scopes: ['rpc'] }), {
    code: 'FAILED_PRECONDITION',
    details: { reason: 'RESERVED' },
  });
});

test('an invalid declaration fails with a message that omits the secret', async () => {
  const cases: [Token[], RegExp][] = [
    [[{ id: 'ops', secret: { source: 'env', provider: 'env', id: 'SHORT' } }], /"ops" .*in SHORT needs at least 32 characters/],
    [[{ id: 'ops', secret: { source: 'env', provider: 'env', id: 'NOWHERE' } }], /"ops" has no secret/],
    [[{ id: 'ops', secret: `sy_${OPS}` }], /checksum is wrong/],
    [[ops, { id: 'ops', secret: OTHER }], /"ops" is declared twice/],
    [[ops, { id: 'two', secret: OPS }], /"ops" and "two" are declared with the same secret/],
    [[{ id: 'env', secret: OPS }], /"env" is declared twice/],
  ];
  for (const [tokens, message] of cases) {
    await assert.rejects(start({ env: { SWITCHYARD_TOKEN: ENV, SHORT: 'short' }, ...configured(...tokens) }), (error: Error) => {
      assert.equal(error.name, 'StartError');
      assert.match(error.message, message);
      return ![OPS, OTHER, ENV].some((secret) => error.message.includes(secret));
    });
  }
});

test('replicas that start at once agree, with and without stored tokens', async () => {
  await using app = await start(configured(ops));
  await using data = await openData(app);
  await data.tokens.for(root).remove({});
  const replicas = await Promise.all(Array.from({ length: 4 }, () => secondReplica(app)));
  assert.deepEqual((await data.tokens.for(root).find({})).items.map(getClientId).sort(), ['env', 'ops']);
  for (const replica of replicas) await replica[Symbol.asyncDispose]();
});

/** A token document of an earlier version. */
const former = { hash: hashToken(ENV), createdBy: 'configuration' };

test('token documents of earlier versions stay valid as ordinary tokens until they are declared', async () => {
  await using data = await tempDir();
  {
    await using app = await start({ data: data.path, env: {} });
    await using documents = await openData(app);
    const tenantDocuments = documents.tokens.for(root);
    for (const token of [stored('env', former), stored('ci', { scopes: ['rpc'] })]) await tenantDocuments.insert(token);
  }
  {
    await using app = await start({ data: data.path, env: {} });
    const seen = (await projected(app)).get('default.env');
    assert.deepEqual([seen?.hash, seen?.client, seen?.sessions, seen?.lenient], [hashToken(ENV), 'env', 'tenant', false]);
    await app.bus.call('tokens.revoke', { id: 'ci' });
    await app.bus.call('tokens.create', { id: 'ci', scopes: ['rpc'] });
    assert.equal((await projected(app)).get('default.ci')?.client, 'ci=2');
    await assert.rejects(app.bus.call('tokens.revoke', { id: 'env' }), { details: { reason: 'LAST_ADMIN' } });
  }
  await using app = await start({ data: data.path, env: { SWITCHYARD_TOKEN: OTHER } });
  const seen = (await projected(app)).get('default.env');
  assert.deepEqual([seen?.hash, seen?.client], [hashToken(OTHER), 'env']);
  assert.equal((await app.bus.call('tokens.list', {})).tokens.find(({ id }) => id === 'env')?.declared, 'SWITCHYARD_TOKEN');
});
