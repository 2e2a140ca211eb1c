import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openNats, tempDir } from '@switchyard/testkit';
import { launch, post, refusal, startEmbedded } from './embedded.ts';

const REFUSED = /^switchyard cannot start: secrets already runs on this bus as secrets-\w+ with another database.*SWITCHYARD_STORE.*$/m;
const EXECUTE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agent.execute', params: { message: 'hello' } });
const skip = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

async function startBus(t: TestContext): Promise<{ SWITCHYARD_BUS: string }> {
  const server = await openNats();
  t.after(() => server.stop());
  return { SWITCHYARD_BUS: server.url };
}

test('rejects a second instance with its own database on the same bus', { skip }, async (t) => {
  const env = await startBus(t);
  await using data = await tempDir();
  {
    await using first = await startEmbedded({ env, data: data.path });
    await using other = await tempDir();
    await using second = await launch(other.path, env);
    const text = await refusal(second);
    assert.match(text, REFUSED);
    assert.doesNotMatch(text, /\n\s+at /);
    assert.equal((await fetch(`${first.url}/readyz`)).status, 200);
    assert.equal((await post(first, EXECUTE)).status, 200);
    await first.process.end('SIGKILL');
  }
  const began = performance.now();
  await using again = await startEmbedded({ env, data: data.path });
  assert.ok(performance.now() - began < 15_000, 'whoever comes back to its own documents does not wait for its own report to expire');
  assert.equal((await post(again, EXECUTE)).status, 200);
});

test('rejects one of two instances that start at the same time', { skip }, async (t) => {
  const env = await startBus(t);
  await using one = await tempDir();
  await using other = await tempDir();
  const outcomes = await Promise.all(
    [one, other].map(async ({ path }) => {
      const started = await launch(path, env);
      t.after(() => started[Symbol.asyncDispose]());
      return Promise.race([started.line(/^Try:/m).then(() => 'serves'), started.line(REFUSED).then(() => 'refused')]);
    }),
  );
  assert.deepEqual(outcomes.toSorted(), ['refused', 'serves']);
});
