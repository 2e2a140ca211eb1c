import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { connectBus, type Bucket, type Bus } from '@switchyard/bus';
import { TOKENS_BUCKET, TOKENS_COMPLETE_KEY } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { silentLogger } from '@switchyard/telemetry';
import { parseBearerSecret, openTokens, type Tokens } from './tokens.ts';

const SECRET = 'a-secret-of-more-than-thirty-two-characters';
const OTHER_SECRET = 'another-secret-of-more-than-thirty-two-chars';
const COMPLETE_MARKER = Buffer.from('{"told":true}');
const log = silentLogger();

interface Opened {
  bus: Bus;
  bucket: Bucket;
  tokens: Tokens;
  put(fields?: Record<string, unknown>): Promise<void>;
  /** Resolves when the revision is applied. */
  settled(revision: number): Promise<void>;
  lose(since: number | undefined): void;
}

async function open(t: TestContext): Promise<Opened> {
  const bus = await connectBus('memory:', { log, service: 'gateway' });
  const bucket = await bus.kv(TOKENS_BUCKET);
  await bucket.put(TOKENS_COMPLETE_KEY, COMPLETE_MARKER);
  let lost: number | undefined;
  const revisions = { inForce: 0, wake: (): void => undefined };
  const loseable: Bucket = {
    ...bucket,
    async watch(onEntry) {
      const watch = await bucket.watch(onEntry);
      return { lostSince: () => lost ?? watch.lostSince(), stop: () => watch.stop() };
    },
  };
  const onRevision = (revision: number): void => {
    revisions.inForce = revision;
    revisions.wake();
  };
  const tokens = await openTokens({ bus: { ...bus, kv: async () => loseable }, log, onRevision });
  t.after(async () => {
    await tokens[Symbol.asyncDispose]();
    await bus.drain();
  });
  const settled = async (revision: number): Promise<void> => {
    while (revisions.inForce < revision) await new Promise<void>((resolve) => (revisions.wake = resolve));
  };
  return {
    bus,
    bucket,
    tokens,
    settled,
    lose: (since) => (lost = since),
    async put(fields) {
      const token = { id: 'alice', hash: hashToken(SECRET), scopes: ['rpc'], tenant: 'default', client: 'alice', ver: 1, ...fields };
      await settled(await bucket.put(`default.${token.id}`, Buffer.from(JSON.stringify(token))));
    },
  };
}

describe('tokens', () => {
  test('the budgets of a token are part of its principal', async (t) => {
    const { tokens, put } = await open(t);
    await put({ budgets: { perHour: 10 } });
    assert.deepEqual(tokens.authenticate(SECRET)?.principal.budgets, { perHour: 10 });
  });

  test('authenticates a known secret and no other', async (t) => {
    const { tokens, put } = await open(t);
    await put({ scopes: ['rpc', 'admin'] });
    const caller = tokens.authenticate(SECRET);
    assert.deepEqual(caller?.principal, { tenant: 'default', client: 'alice', scopes: ['rpc', 'admin'] });
    assert.deepEqual(caller?.may, { rpc: true, admin: true });
    assert.equal(tokens.authenticate(SECRET), caller, 'the same object as long as the token is the same');
    assert.equal(tokens.authenticate(OTHER_SECRET), undefined);
    assert.equal(tokens.authenticate(hashToken(SECRET)), undefined);
    assert.equal(tokens.authenticate(''), undefined);
  });

  test('knows the existing tokens when opened', async (t) => {
    const { bus, put } = await open(t);
    await put();
    await put({ id: 'bob', hash: hashToken(OTHER_SECRET) });
    const revisions: number[] = [];
    await using late = await openTokens({ bus, log, onRevision: (revision) => revisions.push(revision) });
    assert.equal(late.authenticate(SECRET)?.tokenId, 'alice');
    assert.equal(late.authenticate(OTHER_SECRET)?.tokenId, 'bob');
    assert.deepEqual(revisions, [3], 'reported once, after all tokens are applied');
  });

  test('scope admin does not include rpc, and scope * includes both', async (t) => {
    const { tokens, put } = await open(t);
    await put({ scopes: ['admin'] });
    assert.deepEqual(tokens.authenticate(SECRET)?.may, { rpc: false, admin: true });
    await put({ scopes: ['*'], ver: 2 });
    assert.deepEqual(tokens.authenticate(SECRET)?.may, { rpc: true, admin: true });
    await put({ scopes: ['mcp-client'], ver: 3 });
    assert.deepEqual(tokens.authenticate(SECRET)?.may, { rpc: false, admin: false });
  });

  test('refuses a revoked token, also for an authenticated caller', async (t) => {
    const { tokens, put, bucket, settled } = await open(t);
    await put();
    const caller = tokens.authenticate(SECRET);
    assert.ok(caller && tokens.isValid(caller));
    await settled(await bucket.remove('default.alice'));
    assert.equal(tokens.authenticate(SECRET), undefined);
    assert.equal(tokens.isValid(caller), false);
  });

  test('accepts only the new secret after a rotation', async (t) => {
    const { tokens, put } = await open(t);
    await put();
    const before = tokens.authenticate(SECRET);
    await put({ hash: hashToken(OTHER_SECRET), ver: 2 });
    assert.equal(tokens.authenticate(SECRET), undefined);
    assert.equal(tokens.authenticate(OTHER_SECRET)?.ver, 2);
    assert.ok(before && !tokens.isValid(before));
  });

  test('keeps the caller when a token is rewritten unchanged', async (t) => {
    const { tokens, put } = await open(t);
    await put();
    const caller = tokens.authenticate(SECRET);
    await put();
    assert.ok(caller && tokens.isValid(caller));
    assert.equal(tokens.authenticate(SECRET), caller);
  });

  test('refuses an expired token', async (t) => {
    const { tokens, put } = await open(t);
    const expiresAt = Date.now() + 60_000;
    await put({ expiresAt });
    const caller = tokens.authenticate(SECRET);
    assert.ok(caller);
    t.mock.timers.enable({ apis: ['Date'], now: expiresAt });
    assert.equal(tokens.authenticate(SECRET), undefined);
    assert.equal(tokens.isValid(caller), false);
  });

  test('an invalid entry removes the token it replaces', async (t) => {
    const { tokens, put, bucket, settled } = await open(t);
    await put();
    await settled(await bucket.put('default.alice', Buffer.from('{"id":"alice"')));
    assert.equal(tokens.authenticate(SECRET), undefined);
    await put({ scopes: ['root'] });
    assert.equal(tokens.authenticate(SECRET), undefined);
  });

  test('refuses all tokens after the watch has been lost for five seconds', async (t) => {
    const { tokens, put, lose } = await open(t);
    await put();
    const caller = tokens.authenticate(SECRET);
    assert.ok(caller);
    lose(Date.now() - 4_000);
    assert.ok(tokens.authenticate(SECRET) && tokens.areVerifiable());
    lose(Date.now() - 5_001);
    assert.equal(tokens.authenticate(SECRET), undefined);
    assert.equal(tokens.isValid(caller), false);
    assert.equal(tokens.areVerifiable(), false);
    assert.equal(tokens.hasEnded(caller), false, 'the token may still be valid');
    lose(undefined);
    assert.equal(tokens.authenticate(SECRET), caller);
  });

  test('a bus that lost its data ends no token until all tokens are published again', async (t) => {
    const { bus, tokens, put, bucket, settled } = await open(t);
    await put();
    await put({ id: 'bob', hash: hashToken(OTHER_SECRET) });
    const [alice, bob] = [tokens.authenticate(SECRET), tokens.authenticate(OTHER_SECRET)];
    assert.ok(alice && bob);
    await Promise.all(['default.alice', 'default.bob', TOKENS_COMPLETE_KEY].map((key) => bucket.remove(key)));
    await put({ id: 'carol', hash: hashToken('c'.repeat(40)) });
    assert.deepEqual([tokens.areVerifiable(), tokens.authenticate(SECRET), tokens.hasEnded(alice)], [false, undefined, false]);
    await using late = await openTokens({ bus, log });
    assert.equal(late.areVerifiable(), false, 'a gateway started in the meantime does not verify tokens either');

    await put();
    await settled(await bucket.put(TOKENS_COMPLETE_KEY, COMPLETE_MARKER));
    assert.deepEqual([tokens.authenticate(SECRET), tokens.hasEnded(alice)], [alice, false]);
    assert.deepEqual([tokens.authenticate(OTHER_SECRET), tokens.hasEnded(bob)], [undefined, true]);
    assert.ok(late.areVerifiable() && late.authenticate(SECRET));
  });
});

test('parseBearerSecret accepts one bearer token of token68 characters', () => {
  assert.equal(parseBearerSecret('Bearer abc-._~+/09=='), 'abc-._~+/09==');
  assert.equal(parseBearerSecret('bearer abc'), 'abc');
  for (const header of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Bearer  a',
    'Bearer a b',
    'Bearer a,b',
    'Basic abc',
    'Bearer a=b',
    'xBearer a',
    'Bearer ü',
  ]) {
    assert.equal(parseBearerSecret(header), undefined, String(header));
  }
});
