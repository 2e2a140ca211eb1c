import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream, tempDir } from '@switchyard/testkit';
import { sendTurn, startBilled, TOKENS_PER_CALL, USAGE, waitForCalls } from './billed.ts';

const TURNS = 60;

test('billing equals the ledger of the provider, by session and by provider', async () => {
  await using directory = await tempDir();
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: USAGE });
  await using app = await startBilled(upstream, directory.path);
  await Promise.all(Array.from({ length: TURNS }, (_, n) => sendTurn(app, n)));
  const total = await waitForCalls(app, TURNS);
  const tokens = upstream.requests.length * TOKENS_PER_CALL;
  assert.deepEqual([total.callCount, total.totalTokens, total.unknownCalls], [upstream.requests.length, tokens, 0]);
  const { providers } = await app.bus.call('obs.billing.byProvider', {});
  assert.deepEqual(
    providers.map(({ provider, inputTokens, outputTokens, callCount }) => [provider, inputTokens, outputTokens, callCount]),
    [['local', TURNS * USAGE.prompt, TURNS * USAGE.completion, TURNS]],
  );
  const sessions = await Promise.all(
    Array.from({ length: TURNS }, (_, n) => app.bus.call('obs.billing.bySession', { sessionKey: `default:client-${n % 7}:channel-${n}` })),
  );
  assert.ok(sessions.every(({ callCount, totalTokens }) => callCount === 1 && totalTokens === TOKENS_PER_CALL));
});
