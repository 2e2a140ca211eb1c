import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { TOKENS_BUCKET, TOKENS_TOLD } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { startNatsServer, testService } from '@switchyard/testkit';
import { tokenCollection, TokenDocument } from '../data.ts';
import { secrets } from '../service.ts';
import { openProjector } from './projection.ts';

const tenant = 'default';
const token = (id: string): TokenDocument =>
  TokenDocument.parse({ id, hash: `hash of ${id}`, scopes: ['rpc'], ver: 1, createdAt: 1, createdBy: 'test' });

/** The documents and the bus of a service that runs, for projectors of our own. */
async function open(t: TestContext) {
  const app = await testService(secrets);
  const bus = await app.host.connect('secrets');
  const store = await app.host.store('secrets');
  t.after(async () => {
    await store.close();
    await app[Symbol.asyncDispose]();
  });
  const { tokens } = await store.open({ tokens: tokenCollection });
  return { bus, tokens, mine: tokens.for({ tenant }), bucket: await bus.kv(TOKENS_BUCKET) };
}

/** The same collection, where somebody is faster than whoever has just read a token. */
function raced(tokens: Collection<TokenDocument>, intrude: () => Promise<void>): Collection<TokenDocument> {
  let once: (() => Promise<void>) | undefined = intrude;
  return {
    ...tokens,
    for(principal) {
      const mine = tokens.for(principal);
      return {
        ...mine,
        async get(id) {
          const document = await mine.get(id);
          const now = once;
          once = undefined;
          await now?.();
          return document;
        },
      };
    },
  };
}

test('a token that is revoked while all are projected anew does not come back', async (t) => {
  const { bus, tokens, mine, bucket } = await open(t);
  await mine.insert(token('ci'));
  const other = await openProjector(bus, tokens);
  const projector = await openProjector(
    bus,
    raced(tokens, async () => {
      await mine.remove({ id: 'ci' });
      await other.withdraw(tenant, 'ci');
    }),
  );
  await projector.rebuild();
  assert.deepEqual(await bucket.keys(), [TOKENS_TOLD]);
});

test('a token that is made while all are projected anew is not swept away', async (t) => {
  const { bus, tokens, mine, bucket } = await open(t);
  await mine.insert(token('old'));
  const other = await openProjector(bus, tokens);
  const projector = await openProjector(
    bus,
    raced(tokens, async () => {
      await mine.insert(token('new'));
      await other.publish(tenant, 'new');
    }),
  );
  await bucket.put(`${tenant}.stray`, Buffer.from('{}'));
  await projector.rebuild();
  assert.deepEqual((await bucket.keys()).sort(), ['default.new', 'default.old', TOKENS_TOLD]);
});

test('a server that lost its store is told all tokens anew', { timeout: 20_000 }, async (t) => {
  await using stack = new AsyncDisposableStack();
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  await using app = await testService(secrets, { env: { SWITCHYARD_TOKEN: 'e'.repeat(40), SWITCHYARD_BUS: server.url } });
  const bucket = await app.host.bus.kv(TOKENS_BUCKET);
  assert.deepEqual(await bucket.keys(), ['default.env', TOKENS_TOLD]);
  const restored = new Promise<void>((resolve) => app.host.bus.onRestored(resolve));
  await server.restart({ empty: true });
  await restored;
  let keys: string[] = [];
  while (!keys.includes(TOKENS_TOLD) && !t.signal.aborted) keys = await bucket.keys().catch(() => []);
  assert.deepEqual(keys, ['default.env', TOKENS_TOLD], 'and that it was all, last');
});
