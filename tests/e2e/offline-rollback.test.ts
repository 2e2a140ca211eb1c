import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { command, startEmbedded } from './embedded.ts';
import { call } from './exchange.ts';

const SETTING = { section: 'gateway', key: 'maxBatchSize' };

test('a stopped server is rolled back with config rollback --offline', async () => {
  await using data = await tempDir();
  {
    await using product = await startEmbedded({ data: data.path });
    for (const value of [41, 42]) await call(product, 'config.set', { ...SETTING, value });
    const running = await command(product, 'config', 'rollback', '--offline');
    assert.deepEqual([running.code, /process/.test(running.stderr)], [1, true], `while the server runs: ${running.stderr}`);
    await product.process.end('SIGTERM');
  }
  const { code, stdout, stderr } = await command({ data: data.path }, 'config', 'rollback', '--offline');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Version \w{12} restores version \w{12}\. The next start uses it\.\n$/);
  const unknown = await command({ data: data.path }, 'config', 'rollback', 'abcdef123456', '--offline');
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /abcdef123456/);

  await using product = await startEmbedded({ data: data.path });
  const { maxBatchSize } = await call<{ maxBatchSize: number }>(product, 'config.get', { section: 'gateway' });
  assert.equal(maxBatchSize, 41);
  const { entries } = await call<{ entries: { message: string; author: string }[] }>(product, 'config.history', {});
  assert.match(entries[0]?.message ?? '', /^config rollback --offline to /);
});
