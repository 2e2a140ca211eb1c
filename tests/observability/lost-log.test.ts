import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { collect } from '@switchyard/telemetry';
import { startUpstream, tempDir, type TestService, type Upstream } from '@switchyard/testkit';
import { recordCollection } from '../../services/observability/src/documents/collections.ts';
import { sendTurn, startBilled, TOKENS_PER_CALL, USAGE, waitForCalls } from './billed.ts';
import { waitUntil } from './observed-sessions.ts';

const isObservability = (path: string): boolean => basename(path).startsWith('observability');

/** Counts the rows that were read from sessions. */
async function countRecovered({ host }: TestService): Promise<number> {
  const store = await host.store('observability');
  try {
    const { records } = await store.open({ records: recordCollection });
    return await records.for({ tenant: 'default' }).count({ log: 'recovered' });
  } finally {
    await store.close();
  }
}

/** Counts the documents of sessions whose events are published or still marked as pending. */
function countPending(): number {
  const points = collect().find(({ name }) => name === 'switchyard.store.outbox')?.points ?? [];
  return points.reduce((sum, point) => sum + ('value' in point && point.labels.includes('sessions') ? point.value : 0), 0);
}

/** Copies the data of a process that is killed after sessions has published events which observability has not stored. */
async function loseEvents(upstream: Upstream, from: string, to: string): Promise<void> {
  await using app = await startBilled(upstream, from);
  for (let n = 0; n < 3; n += 1) await sendTurn(app, n);
  await waitForCalls(app, 3);
  cpSync(from, to, { recursive: true });
  for (let n = 3; n < 7; n += 1) await sendTurn(app, n);
  await waitForCalls(app, 7);
  // The marks are removed after a delay. The next process would publish marked events again, so that they would not be lost.
  await waitUntil(async () => countPending() === 0, 'the outbox of sessions');
  cpSync(from, to, { recursive: true, filter: (path) => !isObservability(path) });
}

test('bills turns whose events were lost with the log of a killed process, each once', { timeout: 120_000 }, async () => {
  await using directory = await tempDir();
  const [first, second] = [join(directory.path, 'first'), join(directory.path, 'second')];
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: USAGE });
  await loseEvents(upstream, first, second);
  {
    await using app = await startBilled(upstream, second);
    assert.equal((await waitForCalls(app, 7)).totalTokens, 7 * TOKENS_PER_CALL);
    assert.equal(await countRecovered(app), 4);
    await sendTurn(app, 7);
    assert.equal((await waitForCalls(app, 8)).totalTokens, 8 * TOKENS_PER_CALL);
    assert.equal((await app.bus.call('obs.billing.bySession', { sessionKey: 'default:client-5:channel-5' })).callCount, 1);
  }
  // Each start finds another log, so that it reads the same turns again.
  await using app = await startBilled(upstream, second);
  await sendTurn(app, 8);
  const { callCount, totalTokens } = await waitForCalls(app, 9);
  assert.deepEqual([callCount, totalTokens, upstream.requests.length], [9, 9 * TOKENS_PER_CALL, 9]);
});

test('does not bring back usage that was deleted before the log was lost', { timeout: 120_000 }, async () => {
  await using directory = await tempDir();
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: USAGE });
  {
    await using app = await startBilled(upstream, directory.path);
    for (let n = 0; n < 3; n += 1) await sendTurn(app, n);
    await waitForCalls(app, 3);
    await app.bus.call('obs.reset', {});
  }
  await using app = await startBilled(upstream, directory.path);
  await sendTurn(app, 3);
  assert.equal((await waitForCalls(app, 1)).callCount, 1);
  await sendTurn(app, 4);
  assert.equal((await waitForCalls(app, 2)).callCount, 2);
});
