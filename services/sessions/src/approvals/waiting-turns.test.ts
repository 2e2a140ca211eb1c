import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type ConfigurationPatch } from '@switchyard/contracts';
import { principal, type TestService } from '@switchyard/testkit';
import { turnCollection } from '../model/turn-document.ts';
import { ended, getTurnId, listen, testSessions } from '../sessions.fixture.ts';

const ONE_SLOT = { concurrency: { maxConcurrentRuns: 1 } };
const agents = { scripted: { model: 'dev/scripted', ...ONE_SLOT }, counter: { model: 'dev/tools' } };
const env = { SWITCHYARD_DEV_TOOLS: 'on' };
const script = (...steps: object[]): string => JSON.stringify(steps);
const destroyStep = (name: string) => ({ tool: { name: 'dev_destroy', input: { name } } });
const destroy = (name: string): string => script(destroyStep(name), { text: 'went on' });

const start = (approvals: ConfigurationPatch['approvals'] = {}) =>
  testSessions({ agents, env, settings: { approvals: { enabled: true, ...approvals } }, timing: { pollMs: 20 } });

const send = (app: TestService, message: string, channelId: string, as = principal()) =>
  app.bus.as(as).call('agent.execute', { agentId: 'scripted', message, sessionKey: { userId: as.client, channelId } });

async function count(app: TestService, name: string): Promise<number> {
  const sessionKey = { userId: 'test', channelId: 'counter' };
  const message = `dev_count ${JSON.stringify({ name })}`;
  const { response } = await app.bus.call('agent.execute', { agentId: 'counter', message, sessionKey });
  return Number(/"executions":(\d+)/.exec(response)?.[1]);
}

/** Starts a turn of a session whose destructive call waits. */
async function park(app: TestService, name: string, channelId = name): Promise<{ turnId: string; requestId: string }> {
  const turnId = getTurnId(name);
  const received = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: destroy(name), session: `default:test:${channelId}` });
  const frames = await received.until('approval');
  return { turnId, requestId: frames.flatMap((frame) => (frame.type === 'approval' ? [frame.requestId] : []))[0]! };
}

test('a turn that waits holds no slot, and its waiting counts as no attempt', async () => {
  await using app = await start();
  const { turnId, requestId } = await park(app, 'slotless');
  assert.equal((await send(app, script({ text: 'meanwhile' }), 'other')).response, 'meanwhile');
  await app.bus.call('admin.approval.resolve', { id: requestId, approved: true });
  assert.equal((await ended(app.bus, turnId)).result?.response, 'went on');
  const store = await app.host.store('sessions');
  const { turns } = await store.open({ turns: turnCollection });
  const { attempts = 0, parks } = (await turns.for(principal()).get(turnId)) ?? {};
  assert.deepEqual([parks, attempts - (parks ?? 0)], [1, 1]);
  await store.close();
});

test('agent.execute names the turn that waits, and the turn goes on', async () => {
  await using app = await start();
  const session = { userId: 'test', channelId: 'late' };
  const waiting = app.bus.call(
    'agent.execute',
    { agentId: 'scripted', message: destroy('late'), sessionKey: session },
    { timeoutMs: 1_500 },
  );
  const error = await waiting.catch((cause: unknown) => cause);
  assert.ok(error instanceof ServiceError);
  assert.deepEqual([error.code, error.details.reason], ['DEADLINE_EXCEEDED', 'APPROVAL_PENDING']);
  const turnId = String(error.details['turnId']);
  await app.bus.call('admin.approval.resolveAll', { approved: true });
  assert.equal((await ended(app.bus, turnId)).result?.response, 'went on');
  assert.equal(await count(app, 'late'), 1);
});

test('a turn that waits continues on a process that started later', async () => {
  await using app = await start();
  const { turnId, requestId } = await park(app, 'moved');
  await app.restart(() => Promise.resolve());
  assert.equal((await app.bus.call('admin.approval.pending', {})).total, 1);
  await app.bus.call('admin.approval.resolve', { id: requestId, approved: true });
  assert.equal((await ended(app.bus, turnId)).result?.response, 'went on');
  assert.equal(await count(app, 'moved'), 1);
});

test('session.reset clears the cached denials of the session', async () => {
  await using app = await start();
  const { turnId, requestId } = await park(app, 'reset');
  await app.bus.call('admin.approval.resolve', { id: requestId, approved: false });
  await ended(app.bus, turnId);
  await send(app, destroy('reset'), 'reset');
  assert.equal((await app.bus.call('admin.approval.pending', {})).total, 0, 'the denial is cached');
  await app.bus.call('session.reset', { session_key: 'agent:scripted:default:test:reset' });
  const again = send(app, destroy('reset'), 'reset');
  while ((await app.bus.call('admin.approval.resolveAll', { approved: true })).resolved === 0) await app.bus.flush();
  await again;
  assert.equal(await count(app, 'reset'), 1);
});

test('the timeout of a rule decides how long its calls wait', async () => {
  const rules = [{ actionPattern: 'dev.destroy', mode: 'require' as const, timeoutMs: 50 }];
  await using app = await start({ rules, defaultTimeoutMs: 600_000 });
  const { turnId } = await park(app, 'ruled');
  assert.equal((await ended(app.bus, turnId)).result?.response, 'went on');
  assert.equal(await count(app, 'ruled'), 0);
});

test('two calls in one session: /approve without an id lists them, and all approves both', async () => {
  await using app = await start();
  const { turnId } = await park(app, 'first', 'both');
  const caller = (await app.host.connect('graph')).as(principal());
  const order = { idempotencyKey: 'run/1', origin: { service: 'graph' as const, ref: 'run/1' }, action: 'graph.gate', message: 'Publish?' };
  await caller.call('approvals.order', { ...order, channelId: 'both', timeoutMs: 60_000 });
  const { response } = await send(app, '/approve', 'both');
  assert.match(response, /^Several calls wait\. Name one:\n.{8} (dev\.destroy|graph\.gate)\n.{8} (dev\.destroy|graph\.gate)$/);
  assert.match((await send(app, '/approve all', 'both')).response, /^Approved: .*\nApproved: /);
  await ended(app.bus, turnId);
  assert.equal(await count(app, 'first'), 1);
});

test('/approve counts from a listed approver, and not from another client without admin', async () => {
  await using app = await start({ approvers: ['boss'] });
  const boss = principal({ client: 'boss', scopes: ['rpc'] });
  const guest = principal({ client: 'guest', scopes: ['rpc'] });
  const parkAs = async (as: typeof boss): Promise<string> => {
    const received = app.nextEvent('approval:requested');
    void send(app, destroy(as.client), 'own', as).catch(() => undefined);
    return (await received).requestId;
  };
  const requestId = await parkAs(guest);
  assert.match((await send(app, '/approve', 'own', guest)).response, /^You may not answer approvals/);
  assert.match((await send(app, `/deny ${requestId}`, 'own', guest)).response, /^You may not answer approvals/);
  assert.equal((await app.bus.call('admin.approval.resolve', { id: requestId, approved: false })).approved, false);
  const resolved = app.nextEvent('approval:resolved');
  assert.equal((await resolved).approvedBy, 'operator');
  void send(app, destroy('boss'), 'own', boss).catch(() => undefined);
  while ((await app.bus.call('admin.approval.pending', {})).total === 0) await app.bus.flush();
  assert.match((await send(app, '/approve', 'own', boss)).response, /^Approved: /);
});

test('calls of an operator are never gated', async () => {
  const rules = [{ actionPattern: '*', mode: 'deny' as const }];
  await using app = await start({ rules });
  await send(app, script({ text: 'hello' }), 'operated');
  const session_key = 'agent:scripted:default:test:operated';
  assert.equal((await app.bus.call('session.reset', { session_key })).reset, true);
  await app.bus.call('session.delete', { session_key });
  assert.equal((await app.bus.call('admin.approval.pending', {})).total, 0);
});
