import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSettings, readEnvironment } from '@switchyard/service-kit';
import { mintBenchToken, productEnvironment } from './product.ts';

test('the product accepts the raised limits', async () => {
  const { HOME, ...variables } = productEnvironment('/data', mintBenchToken());
  assert.equal(HOME, '/data');
  await assert.doesNotReject(async () => openSettings(await readEnvironment(variables)));
});
