import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Result } from '@switchyard/contracts';
import type { TestService, Upstream } from '@switchyard/testkit';
import { startObserved } from './observed-sessions.ts';

/** Tokens of each answer of the provider. */
export const USAGE = { prompt: 11, completion: 3 };
export const TOKENS_PER_CALL = USAGE.prompt + USAGE.completion;
const POLL_MS = 20;
const PATIENCE_MS = 30_000;

type Total = Result<'obs.billing.total'>;

/** Starts sessions and observability with an agent whose provider is this upstream. */
export function startBilled(upstream: Upstream, data: string): Promise<TestService> {
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  const agent = { provider: 'local', model: 'm', concurrency: { maxConcurrentRuns: 8 } };
  return startObserved({ agent, settings: { providers: { entries } }, data });
}

/** Each turn has a session of its own, so that several run at once. */
export async function sendTurn(app: TestService, n: number): Promise<void> {
  await app.bus.call('agent.execute', { message: 'hello', sessionKey: { userId: `client-${n % 7}`, channelId: `channel-${n}` } });
}

/** Waits until this number of model calls is billed. */
export async function waitForCalls(app: TestService, calls: number): Promise<Total> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const total = await app.bus.call('obs.billing.total', {});
    if (total.callCount >= calls) return total;
    if (performance.now() > deadline) assert.fail(`${total.callCount} of ${calls} calls were billed`);
    await sleep(POLL_MS);
  }
}
