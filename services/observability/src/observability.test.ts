import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testService } from '@switchyard/testkit';
import { observability } from './service.ts';

test('starts and reports readiness', async () => {
  await using app = await testService(observability);
  assert.equal(app.host.health.readiness().dependencies['observability']?.ready, true);
});
