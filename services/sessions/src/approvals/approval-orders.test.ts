import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '@switchyard/contracts';
import { principal, type TestService } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const CHANNEL = 'telegram:678';

function createOrder(more: Partial<Input<'approvals.order'>> = {}): Input<'approvals.order'> {
  return {
    idempotencyKey: 'run/gate/1/0',
    origin: { service: 'graph', ref: 'run/gate/1/0' },
    action: 'graph.gate',
    message: 'Publish the report?',
    channelId: CHANNEL,
    timeoutMs: 60_000,
    ...more,
  };
}

/** The bus of the graph service, and its next wake-up. */
async function connectGraph({ host }: TestService) {
  const bus = await host.connect('graph');
  const woken = Promise.withResolvers<void>();
  bus.onWake('graph', () => woken.resolve());
  return { bus, caller: bus.as(principal()), woken: woken.promise };
}

const say = async ({ bus }: TestService, message: string, as = principal()): Promise<string> =>
  (await bus.as(as).call('agent.execute', { message, sessionKey: { userId: as.client, channelId: CHANNEL } })).response;

test('an ordered approval is listed and resolved like one of a tool call, and wakes its service', async () => {
  await using app = await testSessions();
  const { bus, caller, woken } = await connectGraph(app);
  const requested = app.nextEvent('approval:requested');
  const [first, second] = await Promise.all([caller.call('approvals.order', createOrder()), caller.call('approvals.order', createOrder())]);
  const { requestId } = first;
  assert.deepEqual([first, second], [first, first]);
  assert.equal(first.state, 'pending');
  const { requests } = await app.bus.call('admin.approval.pending', {});
  assert.deepEqual([requests, requests[0]?.params], [[await requested], { message: 'Publish the report?' }]);
  await app.bus.call('admin.approval.resolve', { id: requestId, approved: true, reason: 'read it' });
  await woken;
  const { requests: records } = await caller.call('approvals.verdicts', { requestIds: [requestId] });
  assert.deepEqual(
    records.map(({ state, decidedBy, reason }) => [state, decidedBy, reason]),
    [['approved', 'operator', 'read it']],
  );
  assert.equal((await caller.call('approvals.order', createOrder())).state, 'approved');
  const other = bus.as(principal({ client: 'other' }));
  assert.deepEqual(await other.call('approvals.verdicts', { requestIds: [requestId] }), { requests: [], missing: [requestId] });
});

test('an ordered approval that nobody answers expires, and wakes its service', async () => {
  await using app = await testSessions();
  const { caller, woken } = await connectGraph(app);
  const { requestId } = await caller.call('approvals.order', createOrder({ timeoutMs: 30 }));
  await woken;
  const { requests } = await caller.call('approvals.verdicts', { requestIds: [requestId] });
  assert.deepEqual(
    requests.map(({ state, decidedBy }) => [state, decidedBy]),
    [['expired', 'system:timeout']],
  );
});

test('a withdrawn approval is denied, once, and only for its client', async () => {
  await using app = await testSessions();
  const { bus, caller } = await connectGraph(app);
  const { requestId } = await caller.call('approvals.order', createOrder());
  const withdrawal = { requestIds: [requestId], reason: 'the run was cancelled' };
  assert.deepEqual(await bus.as(principal({ client: 'other' })).call('approvals.withdraw', withdrawal), { withdrawn: 0 });
  assert.deepEqual(await caller.call('approvals.withdraw', withdrawal), { withdrawn: 1 });
  assert.deepEqual(await caller.call('approvals.withdraw', withdrawal), { withdrawn: 0 });
  assert.equal((await app.bus.call('admin.approval.pending', {})).total, 0);
});

test('a chat in the channel answers by command or by plain words, and only from an approver', async () => {
  await using app = await testSessions();
  const { caller } = await connectGraph(app);
  const stand = async (requestId: string) => (await caller.call('approvals.verdicts', { requestIds: [requestId] })).requests[0];
  const plain = await caller.call('approvals.order', createOrder());
  const guest = principal({ client: 'guest', scopes: ['rpc'] });
  assert.match(await say(app, 'yes', guest), /yes/);
  assert.equal((await stand(plain.requestId))?.state, 'pending');
  assert.match(await say(app, "no, don't go"), /^Denied: .{8} graph\.gate$/);
  assert.deepEqual(await stand(plain.requestId).then((record) => [record?.state, record?.decidedBy]), ['denied', 'chat:test']);
  const command = await caller.call('approvals.order', createOrder({ idempotencyKey: 'run/gate/2/0' }));
  assert.match(await say(app, `/approve ${command.requestId.slice(5, 13)}`), /^Approved: .{8} graph\.gate$/);
  assert.equal((await stand(command.requestId))?.state, 'approved');
  assert.match(await say(app, 'yes'), /yes/);
});

test('only the declared services order approvals', async () => {
  await using app = await testSessions();
  await assert.rejects(app.bus.call('approvals.order', createOrder()), { code: 'PERMISSION_DENIED' });
});
