import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startUpstream, tempDir } from '@switchyard/testkit';
import { sendTurn, startBilled, TOKENS_PER_CALL, USAGE, waitForCalls } from './billed.ts';

const POLL_MS = 20;

test('billing equals the ledger after a kill during model calls; the lost call is unknown', { timeout: 120_000 }, async () => {
  await using directory = await tempDir();
  const [first, second] = [join(directory.path, 'first'), join(directory.path, 'second')];
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: USAGE });
  {
    await using app = await startBilled(upstream, first);
    for (let n = 0; n < 10; n += 1) await sendTurn(app, n);
    await waitForCalls(app, 10);
    upstream.respond({ kind: 'stall' });
    const running = sendTurn(app, 10).catch(() => undefined);
    while (upstream.requests.length < 11) await sleep(POLL_MS);
    // The files of a process that is killed now.
    cpSync(first, second, { recursive: true });
    upstream.respond({ kind: 'text', text: 'after the kill', usage: USAGE });
    void running;
  }
  const before = upstream.requests.length;
  await using app = await startBilled(upstream, second);
  const total = await waitForCalls(app, 12);
  const answered = 11;
  assert.ok(upstream.requests.length >= before);
  assert.deepEqual(
    [total.totalTokens, total.callCount - (total.unknownCalls ?? 0), total.unknownCalls],
    [answered * TOKENS_PER_CALL, answered, 1],
  );
});
