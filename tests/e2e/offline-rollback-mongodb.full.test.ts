import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startMongo, tempDir } from '@switchyard/testkit';
import { command, startEmbedded, type Running } from './embedded.ts';
import { call } from './exchange.ts';

const SETTING = { section: 'gateway', key: 'maxBatchSize' };

test('an installation with its documents in MongoDB is rolled back while it is stopped, and also while it runs', async () => {
  const mongo = await startMongo();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => mongo.stop());
  const data = stack.use(await tempDir()).path;
  const env = { SWITCHYARD_STORE: mongo.url };
  const getSize = async (product: Running): Promise<number> =>
    (await call<{ maxBatchSize: number }>(product, 'config.get', { section: 'gateway' })).maxBatchSize;
  {
    await using product = await startEmbedded({ data, env });
    for (const value of [41, 42, 43]) await call(product, 'config.set', { ...SETTING, value });
    await product.process.end('SIGTERM');
  }
  const stopped = await command({ data, env }, 'config', 'rollback', '--offline');
  assert.equal(stopped.code, 0, stopped.stderr);
  const without = await command({ data }, 'config', 'rollback', '--offline');
  assert.deepEqual([without.code, /contains no configuration/.test(without.stderr)], [1, true], without.stderr);

  await using product = await startEmbedded({ data, env });
  assert.equal(await getSize(product), 42);
  // The running registry finds the version within a second, as one of another replica.
  const running = await command({ data, env }, 'config', 'rollback', '--offline');
  assert.equal(running.code, 0, running.stderr);
  while ((await getSize(product)) !== 43) await new Promise((resolve) => setTimeout(resolve, 20));
});
