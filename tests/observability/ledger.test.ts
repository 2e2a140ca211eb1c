import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Result } from '@switchyard/contracts';
import { startUpstream, tempDir, type TestService, type Upstream } from '@switchyard/testkit';
import { startObserved } from './observed-sessions.ts';

const TURNS = 60;
const USAGE = { prompt: 11, completion: 3 };
const POLL_MS = 20;
const PATIENCE_MS = 30_000;

type Total = Result<'obs.billing.total'>;

function start(upstream: Upstream, data: string): Promise<TestService> {
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  const agent = { provider: 'local', model: 'm', concurrency: { maxConcurrentRuns: 8 } };
  return startObserved({ agent, settings: { providers: { entries } }, data });
}

/** Each turn has a session of its own, so that several run at once. */
async function send(app: TestService, n: number): Promise<void> {
  await app.bus.call('agent.execute', { message: 'hello', sessionKey: { userId: `client-${n % 7}`, channelId: `channel-${n}` } });
}

async function waitForCalls(app: TestService, calls: number): Promise<Total> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const total = await app.bus.call('obs.billing.total', {});
    if (total.callCount >= calls) return total;
    if (performance.now() > deadline) assert.fail(`${total.callCount} of ${calls} calls were billed`);
    await new Promise((resolve) => void setTimeout(resolve, POLL_MS));
  }
}

test('billing equals the ledger of the provider, by session and by provider', async () => {
  await using directory = await tempDir();
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: USAGE });
  await using app = await start(upstream, directory.path);
  await Promise.all(Array.from({ length: TURNS }, (_, n) => send(app, n)));
  const total = await waitForCalls(app, TURNS);
  const tokens = upstream.requests.length * (USAGE.prompt + USAGE.completion);
  assert.deepEqual([total.callCount, total.totalTokens, total.unknownCalls], [upstream.requests.length, tokens, 0]);
  const { providers } = await app.bus.call('obs.billing.byProvider', {});
  assert.deepEqual(
    providers.map(({ provider, inputTokens, outputTokens, callCount }) => [provider, inputTokens, outputTokens, callCount]),
    [['local', TURNS * USAGE.prompt, TURNS * USAGE.completion, TURNS]],
  );
  const sessions = await Promise.all(
    Array.from({ length: TURNS }, (_, n) => app.bus.call('obs.billing.bySession', { sessionKey: `default:client-${n % 7}:channel-${n}` })),
  );
  assert.ok(sessions.every(({ callCount, totalTokens }) => callCount === 1 && totalTokens === 14));
});

test('billing equals the ledger after a kill during model calls; the lost call is unknown', { timeout: 120_000 }, async () => {
  await using directory = await tempDir();
  const [first, second] = [join(directory.path, 'first'), join(directory.path, 'second')];
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: USAGE });
  {
    await using app = await start(upstream, first);
    for (let n = 0; n < 10; n += 1) await send(app, n);
    await waitForCalls(app, 10);
    upstream.respond({ kind: 'stall' });
    const running = send(app, 10).catch(() => undefined);
    while (upstream.requests.length < 11) await new Promise((resolve) => void setTimeout(resolve, POLL_MS));
    // The files of a process that is killed now.
    cpSync(first, second, { recursive: true });
    upstream.respond({ kind: 'text', text: 'after the kill', usage: USAGE });
    void running;
  }
  const before = upstream.requests.length;
  await using app = await start(upstream, second);
  const total = await waitForCalls(app, 12);
  const answered = 11;
  assert.ok(upstream.requests.length >= before);
  assert.deepEqual(
    [total.totalTokens, total.callCount - (total.unknownCalls ?? 0), total.unknownCalls],
    [answered * (USAGE.prompt + USAGE.completion), answered, 1],
  );
});
