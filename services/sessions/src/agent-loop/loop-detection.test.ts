import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import type { TestService } from '@switchyard/testkit';
import { listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const script = (...steps: object[]): string => JSON.stringify(steps);
const UNAVAILABLE = { error: { status: 503 } };
const TOOL = { tool: { name: 'session_status', input: {} } };

const agents = { scripted: { model: 'dev/scripted' } };

async function getFailure(app: TestService, params: { message: string; idempotencyKey?: string }): Promise<ServiceError> {
  const failed: unknown = await app.bus.call('agent.execute', { agentId: 'scripted', ...params }).catch((error: unknown) => error);
  return failed instanceof ServiceError ? failed : assert.fail(String(failed));
}

test('a failed turn is retryable unless its tools ran', async () => {
  await using app = await testSessions({ agents });
  const cases: [message: string, retryable: boolean][] = [
    [script(UNAVAILABLE), true],
    [script({ text: 'half' }, UNAVAILABLE), true],
    [script(TOOL, { text: 'half' }, UNAVAILABLE), false],
    [script({ error: { status: 401 } }), false],
  ];
  for (const [message, retryable] of cases) {
    const failed = await getFailure(app, { message });
    assert.equal(failed.retryable, retryable, message);
  }
});

test('a failed turn with a key is not retryable, because a retry returns the same failure', async () => {
  await using app = await testSessions({ agents });
  const keyed = { message: script({ text: 'half' }, UNAVAILABLE), idempotencyKey: 'k' };
  const [first, second] = [await getFailure(app, keyed), await getFailure(app, keyed)];
  assert.deepEqual([first.retryable, second.retryable], [false, false]);
  assert.equal(first.details.turnId, second.details.turnId);
});

test('readers get the same failure', async () => {
  await using app = await testSessions({ agents });
  const turnId = getTurnId('toolsran');
  const received = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: script(TOOL, { text: 'half' }, UNAVAILABLE) });
  const end = (await received.until('error')).at(-1);
  assert.equal(end?.type === 'error' && end.error.details?.['retryable'], false);
});
