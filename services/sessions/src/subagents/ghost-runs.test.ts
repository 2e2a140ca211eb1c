import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventPayload } from '@switchyard/contracts';
import type { TestService } from '@switchyard/testkit';
import { sessionCollection } from '../model/session-document.ts';
import { turnCollection, type TurnDocument } from '../model/turn-document.ts';
import { collect, FOREVER, getStatus, PARENT, script, spawn, startRuns, waitForSession } from './subagents.fixture.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Time limit of the turn of a run, by default. */
const LIMIT_MS = 10 * MINUTE_MS;
/** Time after the limit at which a turn that has not ended is a ghost. */
const GRACE_MS = 2 * MINUTE_MS;

type Run = Awaited<ReturnType<typeof spawn>>;

/** Opens the sessions and the turns of the service beside it. */
async function openDocuments({ host }: TestService) {
  const store = await host.store('sessions');
  const { sessions, turns } = await store.open({ sessions: sessionCollection, turns: turnCollection });
  const tenant = { tenant: 'default' };
  return {
    sessions: sessions.for(tenant),
    turns: turns.for(tenant),
    async findTurn({ sessionKey }: Pick<Run, 'sessionKey'>): Promise<TurnDocument> {
      const { items } = await turns.for(tenant).find({ createdAt: { gt: 0 } }, { limit: 100 });
      return items.find((turn) => turn.sessionKey === sessionKey) ?? assert.fail(`no turn in ${sessionKey}`);
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** Leaves a turn as a process that died after the first checkpoint does, and removes its session, which leads replicas to it. */
async function loseTurn(app: TestService, run: Run, startedAt: number): Promise<void> {
  await using documents = await openDocuments(app);
  const { turnId } = await documents.findTurn(run);
  await documents.turns.update({ turnId }, { set: { state: 'running', attempts: 1, createdAt: startedAt, startedAt } });
  assert.equal(await documents.sessions.remove({ key: run.sessionKey }), 1);
}

/** Returns the id of the next turn of a session that ends. */
async function nextEndedTurn(app: TestService, sessionKey: string): Promise<string> {
  for (;;) {
    const ended = await app.nextEvent('turn:ended');
    if (ended.sessionKey === sessionKey) return ended.turnId;
  }
}

test('a run whose turn was lost ends with ghost_sweep after the grace period and is announced, and no other run ends', async () => {
  await using app = await startRuns();
  await nextEndedTurn(app, PARENT);
  const [ghost, late, healthy] = [await spawn(app, FOREVER), await spawn(app, FOREVER), await spawn(app, FOREVER)];
  for (const { sessionKey } of [ghost, late, healthy]) await waitForSession(app, sessionKey);
  const ends: EventPayload<'session:sub_agent_lifecycle_ended'>[] = [];
  app.bus.on('session:sub_agent_lifecycle_ended', ({ payload }) => void ends.push(payload));
  await app.restart(async () => {
    await loseTurn(app, ghost, Date.now() - LIMIT_MS - GRACE_MS);
    await loseTurn(app, late, Date.now() - LIMIT_MS - GRACE_MS / 2);
  });
  const completed = await app.nextEvent('session:sub_agent_completed');
  assert.deepEqual([completed.runId, completed.success], [ghost.runId, false]);
  const first = await app.nextEvent('session:sub_agent_lifecycle_ended');
  assert.deepEqual([first.runId, first.endReason], [ghost.runId, 'ghost_sweep']);
  const turnId = await nextEndedTurn(app, PARENT);
  assert.deepEqual(
    ends.map(({ runId, endReason, parentSessionKey }) => [runId, endReason, parentSessionKey]),
    [[ghost.runId, 'ghost_sweep', PARENT]],
  );
  await using documents = await openDocuments(app);
  const announced = (await documents.turns.get(turnId))?.context?.text ?? '';
  assert.match(announced, new RegExp(`run ${ghost.runId} of agent scripted, ghost_sweep`));
  assert.match(announced, /Error: The turn of this run did not end within its time limit/);
  const { status, error } = await getStatus(app, ghost.runId);
  assert.deepEqual([status, error], ['failed', 'The turn of this run did not end within its time limit.']);
  for (const { runId } of [late, healthy]) {
    assert.ok(!announced.includes(runId));
    assert.equal((await getStatus(app, runId)).status, 'running');
  }
  assert.equal((await documents.findTurn(ghost)).state, 'cancelled');
});

test('a run that waited for an approval longer than its time limit is no ghost once its turn continues', async () => {
  await using app = await startRuns({ settings: { approvals: { enabled: true } } });
  const requested = app.nextEvent('approval:requested');
  const task = script({ tool: { name: 'dev_destroy', input: { name: 'x' } } }, { wait: 500 }, { text: 'went on' });
  const run = await spawn(app, task);
  const ended = collect(app, 'session:sub_agent_lifecycle_ended', 1);
  const { requestId } = await requested;
  await app.restart(async () => {
    await using documents = await openDocuments(app);
    const { turnId, parked, startedAt = 0, createdAt } = await documents.findTurn(run);
    assert.ok(parked, 'the turn waits for its approval');
    const before = { createdAt: createdAt - HOUR_MS, startedAt: startedAt - HOUR_MS, parked: { ...parked, at: parked.at - HOUR_MS } };
    await documents.turns.update({ turnId }, { set: before });
  });
  await app.bus.call('admin.approval.resolve', { id: requestId, approved: true });
  assert.equal((await ended)[0]?.endReason, 'completed');
  assert.equal((await getStatus(app, run.runId)).response, 'went on');
});
