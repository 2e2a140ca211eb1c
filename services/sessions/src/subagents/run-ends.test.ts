import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subjects } from '@switchyard/contracts';
import type { TestService } from '@switchyard/testkit';
import { turnCollection } from '../model/turn-document.ts';
import { answer, collect, FOREVER, getStatus, PARENT, script, spawn, startRuns, waitForSession } from './subagents.fixture.ts';

interface Notification {
  method: string;
  params: { sessionKey: string; parentSessionKey: string; result: string };
}

/** Collects the WebSocket notifications for the client `test`. */
function listenToNotifications({ bus }: TestService): Notification[] {
  const received: Notification[] = [];
  bus.subscribe(subjects.notifyClient('default', 'test'), ({ data }) => {
    received.push(JSON.parse(Buffer.from(data).toString()) as Notification);
  });
  return received;
}

test('session.completed tells the client of a run its result or its error, once', async () => {
  await using app = await startRuns();
  const received = listenToNotifications(app);
  const ended = collect(app, 'session:sub_agent_lifecycle_ended', 2);
  const first = await spawn(app, answer('the second offer'));
  const second = await spawn(app, FOREVER);
  await app.bus.call('subagent.kill', { target: second.runId });
  await ended;
  await app.bus.flush();
  const expected = [
    [first.sessionKey, 'the second offer'],
    [second.sessionKey, 'Killed by parent agent'],
  ];
  assert.deepEqual(new Map(received.map(({ params }) => [params.sessionKey, params.result])), new Map(expected as [string, string][]));
  assert.equal(received.length, 2);
  for (const { method, params } of received) assert.deepEqual([method, params.parentSessionKey], ['session.completed', PARENT]);
});

for (const method of ['session.delete', 'session.reset'] as const)
  test(`${method} of the parent kills its runs, which stay reported`, async () => {
    await using app = await startRuns();
    const top = await spawn(app, FOREVER);
    await waitForSession(app, top.sessionKey);
    const child = await spawn(app, FOREVER, top.sessionKey);
    const ended = collect(app, 'session:sub_agent_lifecycle_ended', 2);
    await app.bus.call(method, { session_key: PARENT });
    assert.deepEqual(
      new Map((await ended).map(({ runId, endReason }) => [runId, endReason])),
      new Map([
        [top.runId, 'killed'],
        [child.runId, 'killed'],
      ]),
    );
    for (const { runId } of [top, child]) assert.equal((await getStatus(app, runId)).status, 'failed');
    const { runs } = await app.bus.call('subagent.list', {});
    assert.deepEqual(new Set(runs.map(({ runId }) => runId)), new Set([top.runId, child.runId]));
  });

test('the watchdog ends a run whose turn takes too long', async () => {
  await using app = await startRuns({ subagentContext: { maxRunTimeoutMs: 1_000 } });
  const ended = app.nextEvent('session:sub_agent_lifecycle_ended');
  const { runId } = await spawn(app, FOREVER);
  assert.deepEqual([(await ended).runId, (await ended).endReason], [runId, 'watchdog_timeout']);
  assert.match((await getStatus(app, runId)).error ?? '', /^DEADLINE_EXCEEDED/);
});

test('results of runs that end together are announced by one turn, once the last has ended', async () => {
  await using app = await startRuns({ timing: { batchMs: 60_000 } });
  const turns = collect(app, 'turn:ended', 3);
  const first = await spawn(app, script({ wait: 200 }, { text: 'one' }));
  const second = await spawn(app, script({ wait: 1_000 }, { text: 'two' }));
  const ended = await turns;
  assert.deepEqual(
    ended.map(({ sessionKey }) => sessionKey),
    [first.sessionKey, second.sessionKey, PARENT],
  );
  const store = await app.host.store('sessions');
  const opened = await store.open({ turns: turnCollection });
  const { context } = (await opened.turns.for({ tenant: 'default' }).get(ended[2]!.turnId)) ?? {};
  for (const { runId } of [first, second]) assert.ok(context?.text?.includes(runId), `the announcement names ${runId}`);
  await store.close();
});

test('session.list shows the session of a run with the kind sub-agent', async () => {
  await using app = await startRuns();
  const { sessionKey } = await spawn(app, FOREVER);
  await waitForSession(app, sessionKey);
  const { sessions } = await app.bus.call('session.list', { kind: 'sub-agent' });
  assert.deepEqual(
    sessions.map((session) => session.sessionKey),
    [sessionKey],
  );
});
