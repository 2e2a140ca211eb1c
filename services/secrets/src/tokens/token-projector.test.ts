import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Bus } from '@switchyard/bus';
import { bucketKey, REPLICAS_BUCKET, TOKENS_BUCKET, TOKENS_COMPLETE_KEY } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { startNatsServer, testService, type TestService } from '@switchyard/testkit';
import { tokenCollection, TokenDocument } from '../documents/collections.ts';
import { secrets } from '../service.ts';
import { openTokenProjector } from './token-projector.ts';

const tenant = 'default';
/** A change that takes this long timed out waiting for a gateway. */
const ALL_OF_IT_MS = 900;
const token = (id: string): TokenDocument =>
  TokenDocument.parse({ id, hash: `hash of ${id}`, scopes: ['rpc'], ver: 1, createdAt: 1, createdBy: 'test' });

/** The documents and the bus of a running service, for projectors of the test. */
async function open(t: TestContext) {
  const app = await testService(secrets);
  const bus = await app.host.connect('secrets');
  const store = await app.host.store('secrets');
  t.after(async () => {
    await store.close();
    await app[Symbol.asyncDispose]();
  });
  const { tokens } = await store.open({ tokens: tokenCollection });
  return { bus, tokens, tenantDocuments: tokens.for({ tenant }), bucket: await bus.kv(TOKENS_BUCKET) };
}

/** The same collection with a hook after each read of a token. */
function raced(tokens: Collection<TokenDocument>, intrude: () => Promise<void>): Collection<TokenDocument> {
  let once: (() => Promise<void>) | undefined = intrude;
  return {
    ...tokens,
    for(principal) {
      const tenantDocuments = tokens.for(principal);
      return {
        ...tenantDocuments,
        async get(id) {
          const document = await tenantDocuments.get(id);
          const now = once;
          once = undefined;
          await now?.();
          return document;
        },
      };
    },
  };
}

test('a rebuild does not restore a token that is revoked meanwhile', async (t) => {
  const { bus, tokens, tenantDocuments, bucket } = await open(t);
  await tenantDocuments.insert(token('ci'));
  using other = await openTokenProjector(bus, tokens);
  using projector = await openTokenProjector(
    bus,
    raced(tokens, async () => {
      await tenantDocuments.remove({ id: 'ci' });
      await other.withdraw(tenant, 'ci');
    }),
  );
  await projector.rebuild();
  assert.deepEqual(await bucket.keys(), [TOKENS_COMPLETE_KEY]);
});

test('a rebuild does not remove a token that is created meanwhile', async (t) => {
  const { bus, tokens, tenantDocuments, bucket } = await open(t);
  await tenantDocuments.insert(token('old'));
  using other = await openTokenProjector(bus, tokens);
  using projector = await openTokenProjector(
    bus,
    raced(tokens, async () => {
      await tenantDocuments.insert(token('new'));
      await other.publish(tenant, 'new');
    }),
  );
  await bucket.put(`${tenant}.stray`, Buffer.from('{}'));
  await projector.rebuild();
  assert.deepEqual((await bucket.keys()).sort(), ['default.new', 'default.old', TOKENS_COMPLETE_KEY]);
});

/** Reports each revision as a gateway does, until it is silenced. */
async function standIn(bus: Bus): Promise<{ reported: () => number; silent: boolean }> {
  const reports = await bus.kv(REPLICAS_BUCKET);
  const gateway = { reported: () => last, silent: false };
  let last = 0;
  let reporting: Promise<unknown> | undefined;
  await (
    await bus.kv(TOKENS_BUCKET)
  ).watch(({ revision }) => {
    if (gateway.silent) return;
    last = revision;
    // The test may end before the last report is acknowledged.
    reporting = reports.put('gateway.a', Buffer.from(JSON.stringify({ revisions: { tokens: revision } }))).catch(() => undefined);
  });
  await reporting;
  return gateway;
}

/** Deletes all data of the server; resolves when the tokens are published again. */
async function lose(app: TestService, restart: () => Promise<void>, signal: AbortSignal): Promise<string[]> {
  const bucket = await app.host.bus.kv(TOKENS_BUCKET);
  const restored = new Promise<void>((resolve) => app.host.bus.onRestored(resolve));
  await restart();
  await restored;
  let keys: string[] = [];
  while (!keys.includes(TOKENS_COMPLETE_KEY) && !signal.aborted) keys = await bucket.keys().catch(() => []);
  return keys;
}

const ENV = { SWITCHYARD_TOKEN: 'e'.repeat(40) };

test('publishes all tokens again after the server lost its store', { timeout: 60_000 }, async (t) => {
  await using stack = new AsyncDisposableStack();
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  await using app = await testService(secrets, { env: { ...ENV, SWITCHYARD_BUS: server.url } });
  assert.deepEqual(await (await app.host.bus.kv(TOKENS_BUCKET)).keys(), ['default.env', TOKENS_COMPLETE_KEY]);
  const keys = await lose(app, () => server.restart({ empty: true }), t.signal);
  assert.deepEqual(keys, ['default.env', TOKENS_COMPLETE_KEY], 'and the completion entry last');
});

test('tokens.create waits for gateways that were connected before the server lost its store', { timeout: 60_000 }, async (t) => {
  await using stack = new AsyncDisposableStack();
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  await using app = await testService(secrets, { env: { ...ENV, SWITCHYARD_BUS: server.url } });
  const bucket = await app.host.bus.kv(TOKENS_BUCKET);
  const gateway = await standIn(app.host.bus);
  const create = async (id: string): Promise<{ revision: number; waitedMs: number }> => {
    const began = performance.now();
    await app.bus.call('tokens.create', { id, scopes: ['rpc'] });
    const waitedMs = performance.now() - began;
    return { revision: (await bucket.get(bucketKey(tenant, id)))?.revision ?? Infinity, waitedMs };
  };
  await create('before');
  let before = 0;
  for (let n = 0; n < 20; n++) before = await bucket.put(TOKENS_COMPLETE_KEY, Buffer.from('{"told":true}'));

  gateway.silent = true;
  await lose(app, () => server.restart({ empty: true }), t.signal);
  const lost = await create('lost');
  assert.ok(lost.waitedMs > ALL_OF_IT_MS, `it was waited for as long as one waits, not ${lost.waitedMs} ms`);
  const reports = await app.host.bus.kv(REPLICAS_BUCKET);
  await reports.put('gateway.a', Buffer.from(JSON.stringify({ revisions: { tokens: before } })));
  const late = await create('late');
  assert.ok(late.waitedMs > ALL_OF_IT_MS, `what it had before the loss says nothing; it was waited for ${late.waitedMs} ms`);

  gateway.silent = false;
  const after = await create('after');
  assert.ok(gateway.reported() >= after.revision);
});
