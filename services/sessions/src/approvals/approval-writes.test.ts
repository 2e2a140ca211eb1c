import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { principal, type TestService } from '@switchyard/testkit';
import type { CheckpointEntry } from '../model/checkpoint-log.ts';
import { runToolCalls } from '../agent-loop/tool-calls.ts';
import type { TurnPlan } from '../agent-loop/turn-plan.ts';
import { createTurnTaint } from '../screening/untrusted-results.ts';
import { testSessions } from '../sessions.fixture.ts';
import type { ToolBox } from '../tools/toolbox.ts';
import { approvalCollection } from './approval-document.ts';
import { createApprovals, type Approvals, type NewApproval } from './approvals.ts';
import { createApprovalGate } from './turn-gate.ts';

const CALL = { callId: 'call_1', name: 'memory_store', input: { content: 'x' }, text: '{"content":"x"}' };

const tools: ToolBox = {
  specs: [],
  use: () => Promise.resolve({ result: 'stored', failed: false }),
  isReadOnly: () => false,
  isIdempotent: () => false,
  find: () => ({ method: 'memory.store', effect: 'mutate', group: 'memory' }),
};

/** Approvals whose every use fails the test: none of them is free of a read or a write. */
const untouched = new Proxy({} as Approvals, {
  get: (_, name) => () => assert.fail(`the gate called approvals.${String(name)}`),
});

/** Runs one call and returns its checkpoints, each of which is one write of the store. */
async function record(box: ToolBox): Promise<CheckpointEntry[]> {
  const written: CheckpointEntry[] = [];
  const plan = {
    signal: new AbortController().signal,
    onCheckpoint: (entry: CheckpointEntry) => Promise.resolve(void written.push(entry)),
  } as unknown as TurnPlan;
  const calls = { number: 1, calls: [CALL], total: 1, startedCallId: CALL.callId, interrupted: false };
  for await (const frame of runToolCalls({ plan, tools: box, messages: [] }, calls)) assert.equal(frame.type, 'tool');
  return written;
}

test('a tool call that needs no approval has no additional write and reads no request', async () => {
  const settings = { approvals: sections.approvals.parse({ enabled: true }), security: sections.security.parse({}) };
  const gate = createApprovalGate(() => settings, untouched, Date.now);
  const turn = { turnId: 'turn_a', agentId: 'a', sessionKey: 'default:test:a', scopes: ['*'] };
  const options = { turn: turn as never, epoch: 'e', screening: { taint: createTurnTaint(false) } };
  const gated = gate.forTurn(principal(), options)(tools);
  const written = await record(gated);
  assert.deepEqual(written, await record(tools));
  assert.deepEqual(
    written.map(({ mark }) => mark),
    ['result'],
  );
});

/** The requests of a replica of its own on the store of the service. */
async function openReplica(app: TestService, owner: string): Promise<Approvals> {
  const store = await app.host.store('sessions');
  const { approvals } = await store.open({ approvals: approvalCollection });
  return createApprovals({
    approvals,
    owner,
    now: () => store.now(),
    cacheTtl: () => ({ approvedMs: 0, deniedMs: 0 }),
    wakeSession: () => Promise.resolve(true),
    isAwaited: () => Promise.resolve(true),
    log: { warn: () => undefined },
  });
}

test('identical requests of two replicas are one request, and its verdict is the verdict of both', async () => {
  await using app = await testSessions();
  await using one = await openReplica(app, 'one');
  await using other = await openReplica(app, 'other');
  const request = (requestId: string, actionKey: string): NewApproval => ({
    requestId,
    toolName: 'dev_destroy',
    action: 'dev.destroy',
    params: {},
    agentId: 'default',
    sessionKey: 'default:test:coalesced',
    trustLevel: 'admin',
    actionKey,
    timeoutMs: 60_000,
  });
  const found = await Promise.all([
    one.request('default', request('appr_one', 'same')),
    other.request('default', request('appr_other', 'same')),
    one.request('default', request('appr_third', 'different')),
  ]);
  assert.equal(found[0].requestId, found[1].requestId);
  assert.equal(found[2].requestId, 'appr_third');
  const pending = await one.listPending('default', 'default:test:coalesced');
  assert.equal(pending.length, 2);
  await other.resolve('default', found[0].requestId, { approved: true, approvedBy: 'operator' });
  assert.equal((await one.find('default', found[1].requestId))?.verdict, 'approved');
  const again = await one.request('default', request('appr_later', 'same'));
  assert.equal(again.requestId, 'appr_later');
});

test('a request whose delivery failed too often expires and is pending no more', async (t) => {
  await using app = await testSessions();
  await using replica = await openReplica(app, 'one');
  const store = await app.host.store('sessions');
  const { approvals } = await store.open({ approvals: approvalCollection });
  const call = { toolName: 'dev_destroy', action: 'dev.destroy', params: {}, agentId: 'default', sessionKey: 'default:test:poisoned' };
  const { requestId } = await replica.request('default', {
    ...call,
    requestId: 'appr_poisoned',
    trustLevel: 'admin',
    actionKey: 'poisoned',
    timeoutMs: 60_000,
  });
  await approvals.for({ tenant: 'default' }).update({ requestId }, { set: { attempts: 1_000, dueAt: 1 } });
  replica.startDue();
  await t.waitFor(
    async () => {
      const { state, verdict, decidedBy } = (await approvals.for({ tenant: 'default' }).get(requestId)) ?? {};
      assert.deepEqual([state, verdict, decidedBy], ['done', 'expired', 'system:timeout']);
    },
    { timeout: 60_000 },
  );
  assert.deepEqual(await replica.listPending('default'), []);
});
