import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { connectBus, type Bucket, type Bus } from '@switchyard/bus';
import { TOKENS_BUCKET, TOKENS_COMPLETE_KEY } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { silentLogger } from '@switchyard/telemetry';
import { bearerSecret, openTokens, type Tokens } from './tokens.ts';

const SECRET = 'a-secret-of-more-than-thirty-two-characters';
const OTHER = 'another-secret-of-more-than-thirty-two-chars';
const TOLD = Buffer.from('{"told":true}');
const log = silentLogger();

interface Opened {
  bus: Bus;
  bucket: Bucket;
  tokens: Tokens;
  put(fields?: Record<string, unknown>): Promise<void>;
  /** Resolves when the revision is in force. */
  settled(revision: number): Promise<void>;
  lose(since: number | undefined): void;
}

async function open(t: TestContext): Promise<Opened> {
  const bus = await connectBus('memory:', { log, service: 'gateway' });
  const bucket = await bus.kv(TOKENS_BUCKET);
  await bucket.put(TOKENS_COMPLETE_KEY, TOLD);
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
  test('what a token may use goes with each of its calls', async (t) => {
    const { tokens, put } = await open(t);
    await put({ budgets: { perHour: 10 } });
    assert.deepEqual(tokens.authenticate(SECRET)?.principal.budgets, { perHour: 10 });
  });

  test('a known secret is its token, and no other is', async (t) => {
    const { tokens, put } = await open(t);
    await put({ scopes: ['rpc', 'admin'] });
    const caller = tokens.authenticate(SECRET);
    assert.deepEqual(caller?.principal, { tenant: 'default', client: 'alice', scopes: ['rpc', 'admin'] });
    assert.deepEqual(caller?.may, { rpc: true, admin: true });
    assert.equal(tokens.authenticate(SECRET), caller, 'the same object as long as the token is the same');
    assert.equal(tokens.authenticate(OTHER), undefined);
    assert.equal(tokens.authenticate(hashToken(SECRET)), undefined);
    assert.equal(tokens.authenticate(''), undefined);
  });

  test('what was there before is known at once', async (t) => {
    const { bus, put } = await open(t);
    await put();
    await put({ id: 'bob', hash: hashToken(OTHER) });
    const revisions: number[] = [];
    await using late = await openTokens({ bus, log, onRevision: (revision) => revisions.push(revision) });
    assert.equal(late.authenticate(SECRET)?.tokenId, 'alice');
    assert.equal(late.authenticate(OTHER)?.tokenId, 'bob');
    assert.deepEqual(revisions, [3], 'reported once, when all of it is in force');
  });

  test('admin does not include rpc, the star includes both', async (t) => {
    const { tokens, put } = await open(t);
    await put({ scopes: ['admin'] });
    assert.deepEqual(tokens.authenticate(SECRET)?.may, { rpc: false, admin: true });
    await put({ scopes: ['*'], ver: 2 });
    assert.deepEqual(tokens.authenticate(SECRET)?.may, { rpc: true, admin: true });
    await put({ scopes: ['mcp-client'], ver: 3 });
    assert.deepEqual(tokens.authenticate(SECRET)?.may, { rpc: false, admin: false });
  });

  test('a revoked token is refused, on connections that are open too', async (t) => {
    const { tokens, put, bucket, settled } = await open(t);
    await put();
    const caller = tokens.authenticate(SECRET);
    assert.ok(caller && tokens.valid(caller));
    await settled(await bucket.remove('default.alice'));
    assert.equal(tokens.authenticate(SECRET), undefined);
    assert.equal(tokens.valid(caller), false);
  });

  test('after a rotation the new secret is accepted and the old one is not', async (t) => {
    const { tokens, put } = await open(t);
    await put();
    const before = tokens.authenticate(SECRET);
    await put({ hash: hashToken(OTHER), ver: 2 });
    assert.equal(tokens.authenticate(SECRET), undefined);
    assert.equal(tokens.authenticate(OTHER)?.ver, 2);
    assert.ok(before && !tokens.valid(before));
  });

  test('writing a token again as it is disturbs nobody', async (t) => {
    const { tokens, put } = await open(t);
    await put();
    const caller = tokens.authenticate(SECRET);
    await put();
    assert.ok(caller && tokens.valid(caller));
    assert.equal(tokens.authenticate(SECRET), caller);
  });

  test('an expired token is refused', async (t) => {
    const { tokens, put } = await open(t);
    const expiresAt = Date.now() + 60_000;
    await put({ expiresAt });
    const caller = tokens.authenticate(SECRET);
    assert.ok(caller);
    t.mock.timers.enable({ apis: ['Date'], now: expiresAt });
    assert.equal(tokens.authenticate(SECRET), undefined);
    assert.equal(tokens.valid(caller), false);
  });

  test('an entry that cannot be read is nobody, and takes the place of what it replaced', async (t) => {
    const { tokens, put, bucket, settled } = await open(t);
    await put();
    await settled(await bucket.put('default.alice', Buffer.from('{"id":"alice"')));
    assert.equal(tokens.authenticate(SECRET), undefined);
    await put({ scopes: ['root'] });
    assert.equal(tokens.authenticate(SECRET), undefined);
  });

  test('nobody is let in once the watch has been lost for five seconds', async (t) => {
    const { tokens, put, lose } = await open(t);
    await put();
    const caller = tokens.authenticate(SECRET);
    assert.ok(caller);
    lose(Date.now() - 4_000);
    assert.ok(tokens.authenticate(SECRET) && tokens.sound());
    lose(Date.now() - 5_001);
    assert.equal(tokens.authenticate(SECRET), undefined);
    assert.equal(tokens.valid(caller), false);
    assert.equal(tokens.sound(), false);
    assert.equal(tokens.ended(caller), false, 'it may be as good as before');
    lose(undefined);
    assert.equal(tokens.authenticate(SECRET), caller);
  });

  test('a bus that lost what it kept ends no token: nobody is let in until all were told anew, and then those that were not told are gone', async (t) => {
    const { bus, tokens, put, bucket, settled } = await open(t);
    await put();
    await put({ id: 'bob', hash: hashToken(OTHER) });
    const [alice, bob] = [tokens.authenticate(SECRET), tokens.authenticate(OTHER)];
    assert.ok(alice && bob);
    await Promise.all(['default.alice', 'default.bob', TOKENS_COMPLETE_KEY].map((key) => bucket.remove(key)));
    await put({ id: 'carol', hash: hashToken('c'.repeat(40)) });
    assert.deepEqual([tokens.sound(), tokens.authenticate(SECRET), tokens.ended(alice)], [false, undefined, false]);
    await using late = await openTokens({ bus, log });
    assert.equal(late.sound(), false, 'nor by who comes while it is so');

    await put();
    await settled(await bucket.put(TOKENS_COMPLETE_KEY, TOLD));
    assert.deepEqual([tokens.authenticate(SECRET), tokens.ended(alice)], [alice, false]);
    assert.deepEqual([tokens.authenticate(OTHER), tokens.ended(bob)], [undefined, true]);
    assert.ok(late.sound() && late.authenticate(SECRET));
  });
});

test('the header is one bearer token of token68 characters', () => {
  assert.equal(bearerSecret('Bearer abc-._~+/09=='), 'abc-._~+/09==');
  assert.equal(bearerSecret('bearer abc'), 'abc');
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
    assert.equal(bearerSecret(header), undefined, String(header));
  }
});
