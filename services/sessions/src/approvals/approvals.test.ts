import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type ConfigurationPatch } from '@switchyard/contracts';
import { principal, type TestService } from '@switchyard/testkit';
import { ended, getTurnId, listen, testSessions } from '../sessions.fixture.ts';

const agents = { scripted: { model: 'dev/scripted' }, counter: { model: 'dev/tools' } };
const env = { SWITCHYARD_DEV_TOOLS: 'on' };
const script = (...steps: object[]): string => JSON.stringify(steps);
const destroy = (name: string) => script({ tool: { name: 'dev_destroy', input: { name } } }, { text: 'went on' });

const start = (approvals: ConfigurationPatch['approvals'] = {}) =>
  testSessions({ agents, env, settings: { approvals: { enabled: true, ...approvals } }, timing: { pollMs: 20 } });

async function count(app: TestService, name: string): Promise<number> {
  const message = `dev_count ${JSON.stringify({ name })}`;
  const { response } = await app.bus.call('agent.execute', {
    agentId: 'counter',
    message,
    sessionKey: { userId: 'test', channelId: 'counter', peerId: 'test' },
  });
  return Number(/"executions":(\d+)/.exec(response)?.[1]);
}

/** Starts a turn whose destructive call waits, and returns its request. */
async function park(app: TestService, name: string, session = name) {
  const turnId = getTurnId(name);
  const received = listen(app.bus, turnId);
  const requested = app.nextEvent('approval:requested');
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: destroy(name), session: `default:test:${session}` });
  await received.until('approval');
  return { turnId, received, request: await requested };
}

const failsWith = (code: string, details: object) => (error: unknown) => {
  assert.ok(error instanceof ServiceError);
  assert.equal(error.code, code);
  assert.deepEqual({ ...error.details, ...details }, error.details);
  return true;
};

test('parks a turn at a destructive call, and runs the call once when it is approved', async () => {
  await using app = await start();
  const { turnId, received, request } = await park(app, 'approved');
  assert.deepEqual([request.action, request.params, request.trustLevel], ['dev.destroy', { name: 'approved' }, 'admin']);
  assert.equal(await count(app, 'approved'), 0);
  const { requests, total } = await app.bus.call('admin.approval.pending', {});
  assert.deepEqual([requests, total], [[request], 1]);
  const resolved = app.nextEvent('approval:resolved');
  const reply = await app.bus.call('admin.approval.resolve', { id: request.requestId, approved: true });
  assert.deepEqual(reply, { requestId: request.requestId, approved: true, approvedBy: 'operator', reason: null });
  assert.equal((await resolved).approvedBy, 'operator');
  await received.until('done');
  assert.equal((await ended(app.bus, turnId)).result?.response, 'went on');
  assert.equal(await count(app, 'approved'), 1);
  await assert.rejects(
    app.bus.call('admin.approval.resolve', { id: request.requestId, approved: false }),
    failsWith('FAILED_PRECONDITION', { approved: true, approvedBy: 'operator' }),
  );
  await assert.rejects(app.bus.call('admin.approval.resolve', { id: 'appr_x', approved: true }), failsWith('NOT_FOUND', {}));
});

test('a denied call is not executed, and the model reads the reason', async () => {
  await using app = await start();
  const { received } = await park(app, 'denied');
  const answer = await app.bus.call('admin.approval.resolveAll', { approved: false, reason: 'maintenance' });
  assert.equal(answer.resolved, 1);
  const frames = await received.until('done');
  assert.deepEqual(
    frames.flatMap((frame) => (frame.type === 'tool' ? [frame.state] : [])),
    ['called', 'called', 'failed'],
  );
  assert.equal(await count(app, 'denied'), 0);
});

test('a timeout denies', async () => {
  await using app = await start({ defaultTimeoutMs: 50 });
  const { received, request } = await park(app, 'timeout');
  await received.until('done');
  assert.equal(await count(app, 'timeout'), 0);
  await assert.rejects(
    app.bus.call('admin.approval.resolve', { id: request.requestId, approved: true }),
    failsWith('FAILED_PRECONDITION', { approved: false, approvedBy: 'system:timeout' }),
  );
});

test('the first of many answers wins, from RPC and chat at once', async () => {
  await using app = await start();
  const { received, request } = await park(app, 'race');
  const session = { userId: 'test', channelId: 'race' };
  const rpc = (approved: boolean) => app.bus.call('admin.approval.resolve', { id: request.requestId, approved });
  const chat = async () => {
    const { response } = await app.bus.call('agent.execute', { agentId: 'scripted', message: '/approve all', sessionKey: session });
    return response;
  };
  const answers = await Promise.allSettled([rpc(true), rpc(false), chat(), rpc(true), rpc(false), chat()]);
  const won = answers.filter(
    ({ status, ...rest }) =>
      status === 'fulfilled' &&
      (typeof rest !== 'object' || !/^(No call|Approval request)/.test(String((rest as { value: unknown }).value))),
  );
  assert.equal(won.length, 1, JSON.stringify(answers));
  await received.until('done');
  assert.ok((await count(app, 'race')) <= 1);
});

test('/approve is answered while the turn waits, by the beginning of the id', async () => {
  await using app = await start();
  const { received, request } = await park(app, 'chat');
  const say = async (message: string) =>
    (await app.bus.call('agent.execute', { agentId: 'scripted', message, sessionKey: { userId: 'test', channelId: 'chat' } })).response;
  assert.match(await say('/approve zzz'), /No waiting call begins with zzz/);
  assert.match(await say(`/approve ${request.requestId.slice(5, 13)}`), /^Approved: .{8} dev\.destroy$/);
  await received.until('done');
  assert.equal(await count(app, 'chat'), 1);
  assert.match(await say('/approve'), /No call waits/);
});

test('/stop ends a waiting turn', async () => {
  await using app = await start();
  const { received } = await park(app, 'stopped');
  const { response } = await app.bus.call('agent.execute', {
    agentId: 'scripted',
    message: '/stop',
    sessionKey: { userId: 'test', channelId: 'stopped' },
  });
  assert.match(response, /^Stopped/);
  await received.until('error');
  assert.equal(await count(app, 'stopped'), 0);
});

test('the request of a cancelled turn is withdrawn', async () => {
  await using app = await start();
  const { turnId, received, request } = await park(app, 'withdrawn');
  const resolved = app.nextEvent('approval:resolved');
  await app.bus.call('agent.cancel', { turnId });
  await received.until('error');
  const { requestId, approved, approvedBy } = await resolved;
  assert.deepEqual([requestId, approved, approvedBy], [request.requestId, false, 'system:cancelled']);
  assert.equal((await app.bus.call('admin.approval.pending', {})).total, 0);
  await assert.rejects(
    app.bus.call('admin.approval.resolve', { id: request.requestId, approved: true }),
    failsWith('FAILED_PRECONDITION', { approved: false, approvedBy: 'system:cancelled' }),
  );
  assert.equal(await count(app, 'withdrawn'), 0);
});

test('a client that is restricted to its own sessions sees and answers only their requests', async () => {
  await using app = await start();
  const { received, request } = await park(app, 'foreign');
  const restricted = app.bus.as({ ...principal(), client: 'other', sessions: 'own' });
  assert.deepEqual(await restricted.call('admin.approval.pending', {}), { requests: [], total: 0 });
  assert.equal((await restricted.call('admin.approval.resolveAll', { approved: true })).resolved, 0);
  await assert.rejects(restricted.call('admin.approval.resolve', { id: request.requestId, approved: true }), failsWith('NOT_FOUND', {}));
  assert.equal((await app.bus.call('admin.approval.resolveAll', { approved: false })).resolved, 1);
  await received.until('done');
});

test('/deny denies, and the denial is cached until the cache is cleared', async () => {
  await using app = await start();
  const { received } = await park(app, 'deniedinchat');
  const session = { userId: 'test', channelId: 'deniedinchat' };
  const { response } = await app.bus.call('agent.execute', { agentId: 'scripted', message: '/deny', sessionKey: session });
  assert.match(response, /^Denied: .{8} dev\.destroy$/);
  await received.until('done');
  const again = () => app.bus.call('agent.execute', { agentId: 'scripted', message: destroy('deniedinchat'), sessionKey: session });
  await again();
  assert.equal((await app.bus.call('admin.approval.pending', {})).total, 0);
  assert.deepEqual(await app.bus.call('admin.approval.clearDenialCache', {}), { cleared: true });
  const requested = app.nextEvent('approval:requested');
  const waiting = again();
  const { requestId } = await requested;
  await app.bus.call('admin.approval.resolve', { id: requestId, approved: true });
  await waiting;
  assert.equal(await count(app, 'deniedinchat'), 1);
});

test('of 1,000 answers from RPC, resolveAll and chat one decides', async () => {
  await using app = await start();
  const { received, request } = await park(app, 'crowd');
  const session = { userId: 'test', channelId: 'crowd' };
  let winners = 0;
  const events: unknown[] = [];
  app.bus.on('approval:resolved', ({ payload }) => void events.push(payload));
  const places = [
    (approved: boolean) =>
      app.bus.call('admin.approval.resolve', { id: request.requestId, approved }).then(
        () => 1,
        () => 0,
      ),
    (approved: boolean) => app.bus.call('admin.approval.resolveAll', { approved }).then(({ resolved }) => resolved),
    async (approved: boolean) => {
      const message = approved ? '/approve all' : '/deny all';
      const { response } = await app.bus.call('agent.execute', { agentId: 'scripted', message, sessionKey: session });
      return /^(Approved|Denied): /.test(response) ? 1 : 0;
    },
  ];
  const answers = Array.from({ length: 1_000 }, (_, at) => places[at % places.length]!(at % 2 === 0));
  for (const answer of await Promise.all(answers)) winners += answer;
  await received.until('done');
  await app.bus.flush();
  assert.deepEqual([winners, events.length], [1, 1]);
  assert.ok((await count(app, 'crowd')) <= 1);
});

test('a stateless turn refuses a call that requires approval and tells the model why', async () => {
  await using app = await start();
  const turnId = getTurnId('stateless');
  const { response } = await app.bus.call('turns.complete', { turnId, model: 'counter', message: 'dev_destroy {"name":"stateless"}' });
  assert.match(response, /APPROVAL_PENDING/);
  assert.equal(await count(app, 'stateless'), 0);
  assert.equal((await app.bus.call('admin.approval.pending', {})).total, 0);
});

test('agent.execute says before its deadline that the turn waits', async () => {
  await using app = await start();
  const failure = app.bus.call('agent.execute', { agentId: 'scripted', message: destroy('late') }, { timeoutMs: 1_500 });
  await assert.rejects(failure, failsWith('DEADLINE_EXCEEDED', { reason: 'APPROVAL_PENDING' }));
});

test('an approval answers identical calls for a while, and no call with other arguments', async () => {
  await using app = await start({ batchApprovalTtlMs: 60_000 });
  const same = { tool: { name: 'dev_destroy', input: { name: 'same' } } };
  const other = { tool: { name: 'dev_destroy', input: { name: 'other' } } };
  const turnId = getTurnId('cached');
  const received = listen(app.bus, turnId);
  const requested = app.nextEvent('approval:requested');
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: script(same, same, other, { text: 'end' }) });
  const { requestId } = await requested;
  const next = app.nextEvent('approval:requested');
  await app.bus.call('admin.approval.resolve', { id: requestId, approved: true });
  const second = await next;
  assert.deepEqual(second.params, { name: 'other' });
  assert.equal(await count(app, 'same'), 2);
  await app.bus.call('admin.approval.resolve', { id: second.requestId, approved: false });
  await received.until('done');
  assert.equal(await count(app, 'other'), 0);
});

test('without approvals a destructive call requires confirmation by the model', async () => {
  await using app = await testSessions({ agents, env });
  const call = (input: object) => ({ tool: { name: 'dev_destroy', input } });
  const message = script(call({ name: 'confirmed' }), { text: 'sure?' });
  await app.bus.call('agent.execute', { agentId: 'scripted', message });
  assert.equal(await count(app, 'confirmed'), 0);
  await app.bus.call('agent.execute', {
    agentId: 'scripted',
    message: script(call({ name: 'confirmed', _confirmed: true }), { text: 'ok' }),
  });
  assert.equal(await count(app, 'confirmed'), 1);
});
