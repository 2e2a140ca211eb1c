import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '@switchyard/contracts';
import { principal, startUpstream, type TestService } from '@switchyard/testkit';
import { getTurnId, testSessions } from '../sessions.fixture.ts';

const owner = principal();
const agents = { scripted: { model: 'dev/scripted' } };
const FOREVER = JSON.stringify([{ wait: 60_000 }, { text: 'never' }]);

/** The bus of a service that orders turns. */
async function connectScheduler({ host }: TestService) {
  const bus = await host.connect('scheduler');
  return { bus, caller: bus.as(owner) };
}

function createOrder(more: Partial<Input<'turns.order'>> = {}): Input<'turns.order'> {
  return {
    message: 'hello',
    idempotencyKey: 'backup@2026-11-26T04:00Z',
    kind: 'cron',
    origin: { service: 'scheduler', ref: 'backup' },
    session: { userId: 'cron:backup', channelId: 'gateway' },
    ...more,
  };
}

test('the same key orders the same turn, and another request under it is refused', async () => {
  await using app = await testSessions();
  const { caller } = await connectScheduler(app);
  const [first, second] = await Promise.all([caller.call('turns.order', createOrder()), caller.call('turns.order', createOrder())]);
  assert.equal(first.turnId, second.turnId);
  const changed = { kind: 'heartbeat' as const };
  await assert.rejects(caller.call('turns.order', createOrder(changed)), {
    details: { reason: 'IDEMPOTENCY_MISMATCH', turnId: first.turnId },
  });
  const { turns } = await caller.call('turns.ends', { turnIds: [first.turnId], waitMs: 10_000 });
  assert.deepEqual(
    turns.map(({ state, result, steps }) => [state, result?.response.includes('hello'), steps]),
    [['done', true, 1]],
  );
  assert.equal((await caller.call('turns.order', createOrder())).state, 'done');
});

test('the key of an order cancels its turn, and no turn of another client or key', async () => {
  await using app = await testSessions({ agents });
  const { bus, caller } = await connectScheduler(app);
  const order = createOrder({ agentId: 'scripted', message: FOREVER });
  const { turnId } = await caller.call('turns.order', order);
  const { idempotencyKey } = order;
  const other = bus.as({ ...owner, client: 'other' });
  await assert.rejects(other.call('turns.cancel', { idempotencyKey }), { code: 'NOT_FOUND' });
  await assert.rejects(caller.call('turns.cancel', { idempotencyKey: 'backup@later' }), { code: 'NOT_FOUND' });
  await assert.rejects(caller.call('turns.cancel', {}), { code: 'INVALID_ARGUMENT', message: /either turnId or idempotencyKey/ });
  assert.deepEqual(await caller.call('turns.cancel', { idempotencyKey }), { turnId, state: 'cancelled' });
  const { turns } = await caller.call('turns.ends', { turnIds: [turnId] });
  assert.deepEqual(
    turns.map(({ state }) => state),
    ['cancelled'],
  );
});

test('only the declared services order turns', async () => {
  await using app = await testSessions();
  await assert.rejects(app.bus.call('turns.order', createOrder()), { code: 'PERMISSION_DENIED' });
});

test('an order reaches only the sessions of its client, and the names of its service', async () => {
  await using app = await testSessions();
  const { bus, caller } = await connectScheduler(app);
  const own = bus.as({ ...owner, client: 'other', sessions: 'own' });
  await caller.call('turns.order', createOrder({ session: { userId: 'test', channelId: 'private' } }));
  for (const session of ['default:test:private', 'default:somebody:gateway'])
    await assert.rejects(own.call('turns.order', createOrder({ session, idempotencyKey: session })), { code: 'NOT_FOUND' });
  for (const userId of ['hook:ci:1', 'graph:run'])
    await assert.rejects(caller.call('turns.order', createOrder({ session: { userId, channelId: 'gateway' }, idempotencyKey: userId })), {
      details: { reason: 'SESSION_NAME' },
    });
});

test('the end of an ordered turn wakes the service that ordered it', async () => {
  await using app = await testSessions({ agents });
  const { bus, caller } = await connectScheduler(app);
  let wakes = 0;
  const woken = Promise.withResolvers<void>();
  bus.onWake('scheduler', () => {
    wakes += 1;
    woken.resolve();
  });
  await bus.flush();
  await app.bus.call('agent.execute', { message: 'nobody ordered this' });
  assert.equal(wakes, 0);
  const { turnId } = await caller.call('turns.order', createOrder({ agentId: 'scripted', message: FOREVER }));
  await app.bus.call('agent.cancel', { turnId });
  await woken.promise;
  assert.ok(wakes >= 1);
});

test('turns.ends reports answers, failures, cancellations, running and missing turns', async () => {
  await using app = await testSessions({ agents, settings: { daemon: { shutdownTimeoutMs: 100 } } });
  const { caller } = await connectScheduler(app);
  const order = (ref: string, message: string) =>
    caller.call('turns.order', createOrder({ agentId: 'scripted', message, idempotencyKey: ref, session: { channelId: ref } }));
  const answered = await order('a', JSON.stringify([{ text: 'done' }]));
  const failing = await order('b', JSON.stringify([{ error: 500 }]));
  const cancelled = await order('c', FOREVER);
  const running = await order('d', FOREVER);
  await app.bus.call('agent.cancel', { turnId: cancelled.turnId });
  const foreign = (await app.bus.as({ ...owner, client: 'other', sessions: 'own' }).call('agent.start', { message: 'mine' })).turnId;
  const turnIds = [answered, failing, cancelled, running].map(({ turnId }) => turnId);
  await caller.call('turns.ends', { turnIds: turnIds.slice(0, 3), waitMs: 10_000 });
  const { turns, missing } = await caller.call('turns.ends', { turnIds: [...turnIds, foreign, getTurnId('none')] });
  const byId = new Map(turns.map((turn) => [turn.turnId, turn]));
  assert.deepEqual(
    turnIds.slice(0, 3).map((turnId) => byId.get(turnId)?.state),
    ['done', 'failed', 'cancelled'],
  );
  assert.equal(byId.get(failing.turnId)?.failure !== undefined, true);
  const { state, usage } = byId.get(running.turnId) ?? {};
  assert.ok(state === 'queued' || state === 'running', state);
  assert.equal(usage, undefined);
  assert.deepEqual(missing, [foreign, getTurnId('none')]);
});

test('limits of an order apply below those of the agent', async () => {
  await using upstream = await startUpstream();
  const look = { name: 'session_history', arguments: {} };
  upstream.respond(...Array.from({ length: 10 }, () => ({ kind: 'tools' as const, calls: [look] })));
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  await using app = await testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'local', model: 'm' } } });
  const { caller } = await connectScheduler(app);
  const { turnId } = await caller.call('turns.order', createOrder({ limits: { steps: 2 } }));
  const { turns } = await caller.call('turns.ends', { turnIds: [turnId], waitMs: 10_000 });
  assert.deepEqual([turns[0]?.result?.finishReason, turns[0]?.steps, upstream.requests.length], ['max_steps', 2, 2]);
});

test('turns.ends counts the tool calls of a turn and names the tools that failed', async () => {
  await using upstream = await startUpstream();
  const call = (name: string, args: object = {}) => ({ name, arguments: args });
  upstream.respond(
    { kind: 'tools', calls: [call('session_history', { limit: 'all' }), call('session_status')] },
    { kind: 'tools', calls: [call('session_history', { limit: 'none' })] },
    { kind: 'text', text: 'done' },
  );
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  await using app = await testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'local', model: 'm' } } });
  const { caller } = await connectScheduler(app);
  const { turnId } = await caller.call('turns.order', createOrder());
  const counted = await caller.call('turns.ends', { turnIds: [turnId], waitMs: 10_000, countTools: true });
  assert.deepEqual(counted.turns[0]?.tools, { calls: 3, failed: ['session_history'] });
  assert.equal((await caller.call('turns.ends', { turnIds: [turnId] })).turns[0]?.tools, undefined);
});

test('an order says which earlier turns the model reads', async () => {
  await using upstream = await startUpstream();
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  await using app = await testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'local', model: 'm' } } });
  const { caller } = await connectScheduler(app);
  const ask = async (message: string, more: Partial<Input<'turns.order'>> = {}): Promise<string> => {
    const { turnId } = await caller.call('turns.order', createOrder({ message, idempotencyKey: message, ...more }));
    await caller.call('turns.ends', { turnIds: [turnId], waitMs: 10_000 });
    return JSON.stringify(upstream.requests.at(-1)?.body);
  };
  for (const question of ['question-1', 'question-2', 'question-3']) await ask(question);
  const seen = (prompt: string): string[] => ['question-1', 'question-2', 'question-3'].filter((question) => prompt.includes(question));
  assert.deepEqual(seen(await ask('a', { history: { mode: 'fresh' } })), []);
  assert.deepEqual(seen(await ask('b', { history: { mode: 'rolling', turns: 2 } })), ['question-3']);
  assert.deepEqual(seen(await ask('c')), ['question-1', 'question-2', 'question-3']);
});

test('the material of an order precedes its message in the prompt and stays out of the history', async () => {
  await using upstream = await startUpstream();
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  await using app = await testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'local', model: 'm' } } });
  const { caller } = await connectScheduler(app);
  const context: Input<'turns.order'>['context'] = [
    { title: 'plan', text: `fetched "${'x'.repeat(10_000)}"` },
    { title: 'own', text: 'checked', untrusted: false },
  ];
  const { turnId, sessionKey } = await caller.call('turns.order', createOrder({ message: 'sum up', context }));
  await caller.call('turns.ends', { turnIds: [turnId], waitMs: 10_000 });
  const messages = (upstream.requests.at(-1)?.body['messages'] ?? []) as { role: string; content: string }[];
  const [material, question] = messages.slice(-2);
  const lines = material?.content
    .split('\n')
    .slice(1)
    .map((line): unknown => JSON.parse(line));
  assert.deepEqual(lines, [
    { ...context?.[0], untrusted: true },
    { title: 'own', text: 'checked' },
  ]);
  assert.equal(question?.content, 'sum up');
  const history = await app.bus.call('session.history', { session_key: sessionKey });
  assert.equal(JSON.stringify(history).includes('fetched'), false);
  const long = Array.from({ length: 2 }, () => ({ title: 't', text: 'x'.repeat(300_000) }));
  await assert.rejects(caller.call('turns.order', createOrder({ context: long, idempotencyKey: 'long' })), { code: 'INVALID_ARGUMENT' });
});

test('tools of an order narrow those of the agent and never widen them', async () => {
  const denied = { model: 'dev/tools', skills: { toolPolicy: { deny: ['memory_search'] } } };
  await using app = await testSessions({ agents: { tools: { model: 'dev/tools' }, denied } });
  const { caller } = await connectScheduler(app);
  const getOffered = async (agentId: string, tools?: Input<'turns.order'>['tools']) => {
    const { turnId } = await caller.call('turns.order', createOrder({ agentId, tools, idempotencyKey: JSON.stringify([agentId, tools]) }));
    const { turns } = await caller.call('turns.ends', { turnIds: [turnId], waitMs: 10_000 });
    return /Tools offered here: (.*)\.$/.exec(turns[0]?.result?.response ?? '')?.[1]?.split(', ') ?? [];
  };
  assert.deepEqual((await getOffered('tools', { profile: 'cron-minimal' })).toSorted(), [
    'link_process',
    'memory_search',
    'session_search',
  ]);
  assert.deepEqual((await getOffered('denied', { profile: 'cron-minimal' })).toSorted(), ['link_process', 'session_search']);
  assert.deepEqual(await getOffered('denied', { profile: 'heartbeat-minimal', allow: ['memory_search', 'session_status'] }), [
    'session_status',
  ]);
  assert.ok((await getOffered('tools')).includes('session_history'));
});

test('an idempotency key does not accept an order with other tools', async () => {
  await using app = await testSessions();
  const { caller } = await connectScheduler(app);
  const { turnId } = await caller.call('turns.order', createOrder({ tools: { deny: ['read'] } }));
  await assert.rejects(caller.call('turns.order', createOrder()), { details: { reason: 'IDEMPOTENCY_MISMATCH', turnId } });
});

test('turns.exchange returns the message and the answer of a turn of the tenant', async () => {
  await using app = await testSessions();
  const { bus, caller } = await connectScheduler(app);
  const turnId = getTurnId('exchange');
  await app.bus.call('turns.start', { turnId, message: 'hello', session: { channelId: 'gateway' } });
  await assert.rejects(app.bus.call('turns.exchange', { turnId }), { code: 'PERMISSION_DENIED' });
  await app.nextEvent('turn:ended');
  const { message, response, messageIndex } = await caller.call('turns.exchange', { turnId });
  assert.deepEqual([message, response.includes('hello'), messageIndex], ['hello', true, 1]);
  await assert.rejects(bus.as(principal({ tenant: 'elsewhere' })).call('turns.exchange', { turnId }), { code: 'NOT_FOUND' });
});
