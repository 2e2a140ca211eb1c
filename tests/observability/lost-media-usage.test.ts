import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { startUpstream, tempDir, type TestService, type Upstream } from '@switchyard/testkit';
import { media } from '../../services/media/src/service.ts';
import { TOKENS_PER_CALL, USAGE, waitForCalls } from './billed.ts';
import { startObserved } from './observed-sessions.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const isObservability = (path: string): boolean => basename(path).startsWith('observability');

/** Starts sessions, media and observability with a model of images. */
function startWithMedia(upstream: Upstream, data: string): Promise<TestService> {
  const models = [{ id: 'm', input: ['text' as const, 'image' as const] }];
  const entries = { openai: { type: 'openai-compatible' as const, baseUrl: upstream.url, apiKeyName: 'VISION_API_KEY', models } };
  return startObserved({
    agent: { provider: 'openai', model: 'm' },
    settings: { providers: { entries } },
    secrets: { VISION_API_KEY: 'sk-for-this-test-only' },
    data,
    services: [media],
  });
}

/** Calls the provider once: the answer to another question is not cached. */
async function describeImage({ bus }: TestService, n: number): Promise<void> {
  await bus.call('image.analyze', { source: PNG, source_type: 'base64', prompt: `Describe part ${n}.` });
}

/** Copies the data of a process that is killed after media has published usage which observability has not stored. */
async function loseEvents(upstream: Upstream, from: string, to: string): Promise<void> {
  await using app = await startWithMedia(upstream, from);
  await describeImage(app, 0);
  await waitForCalls(app, 1);
  cpSync(from, to, { recursive: true });
  for (let n = 1; n < 4; n += 1) await describeImage(app, n);
  await waitForCalls(app, 4);
  cpSync(from, to, { recursive: true, filter: (path) => !isObservability(path) });
}

test('bills the usage of media whose events were lost with the log of a killed process, each once', { timeout: 120_000 }, async () => {
  await using directory = await tempDir();
  const [first, second] = [join(directory.path, 'first'), join(directory.path, 'second')];
  await using upstream = await startUpstream({ kind: 'text', text: 'A yard.', usage: USAGE });
  await loseEvents(upstream, first, second);
  // Each start finds another log, so that the second one reads the same usage again.
  for (const calls of [5, 6]) {
    await using app = await startWithMedia(upstream, second);
    await waitForCalls(app, calls - 1);
    await describeImage(app, calls);
    const { callCount, totalTokens } = await waitForCalls(app, calls);
    assert.deepEqual([callCount, totalTokens, upstream.requests.length], [calls, calls * TOKENS_PER_CALL, calls]);
  }
});
