import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Principal } from '@switchyard/contracts';
import { startService, systemClock } from '@switchyard/service-kit';
import { openStore, type Documents } from '@switchyard/store';
import { principal, tempDir } from '@switchyard/testkit';
import { endedEpochCollection, sessionCollection, type SessionDocument } from '../model/session-document.ts';
import { summaryCollection } from '../model/summary-document.ts';
import { turnCollection } from '../model/turn-document.ts';
import { bodyCollection } from '../model/text-document.ts';
import { sessions as service } from '../service.ts';
import { listen, testSessions, getTurnId } from '../sessions.fixture.ts';
import { loadCheckpoints } from '../model/checkpoint-log.ts';
import { readHistory, requireSession } from './session-directory.ts';
import { createSessionReset, newEpochChange } from './session-reset.ts';
import { enqueue } from '../queue/session-queue.ts';

const mary = principal({ client: 'mary', scopes: ['*'], sessions: 'own' });
const carl = principal({ client: 'carl', scopes: ['*'], sessions: 'own' });
const admin = principal({ client: 'admin', scopes: ['*'] });
/** The same client with a token for all sessions, which may create sessions of any user. */
function wide(restricted: Principal): Principal {
  const { sessions: _, ...client } = restricted;
  return client;
}

const KEY = 'default:somebody:phone';
/** The client may not create a session of this name, so it does not learn whether the session exists. */
const denied = { code: 'NOT_FOUND', details: { reason: 'SESSION_NAME' } };
const unknown = { code: 'NOT_FOUND', message: 'Session not found.' };
const script = (...steps: object[]): string => JSON.stringify(steps);
const scripted = { agents: { scripted: { model: 'dev/scripted', concurrency: { maxConcurrentRuns: 1 } } } };

/** Opens the documents of the service. */
async function besides(data: string) {
  const store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  const opened = await store.open({
    sessions: sessionCollection,
    turns: turnCollection,
    bodies: bodyCollection,
    summaries: summaryCollection,
    gone: endedEpochCollection,
  });
  return { ...opened, mine: opened.sessions.for(admin), store, clock: systemClock, [Symbol.asyncDispose]: () => store.close() };
}

/** A session created by `by`, or one without `createdBy`. */
function made(by: string | undefined, key = KEY): SessionDocument {
  const counts = {
    messageCount: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    lastSteps: 0,
    lastSeq: 0,
    depth: 0,
    fence: 1,
    leaseUntil: 0,
  };
  const place = { key, agentId: 'default', userId: 'somebody', channelId: 'phone', kind: 'dm' as const, metadata: {} };
  const mailbox = { epoch: 'e', queue: [], owner: null };
  return { ...place, ...counts, ...mailbox, createdAt: 1, updatedAt: 1, ...(by === undefined ? {} : { createdBy: by }) };
}

test('only one of two clients that create a session concurrently owns it, on any replica', async () => {
  await using app = await testSessions();
  await using _second = await startService(service, app.host);
  const refused = new Set<string>();
  for (let at = 0; at < 20; at += 1) {
    const key = `default:race${at}:phone`;
    const both = at % 2 === 0 ? [mary, carl] : [carl, mary];
    const answers = await Promise.allSettled(both.map((who) => app.bus.as(wide(who)).call('session.send', { key, message: 'mine' })));
    const seen = await Promise.allSettled(both.map((who) => app.bus.as(who).call('session.export', { session_key: key })));
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'fulfilled'],
    );
    const lost = seen.findIndex(({ status }) => status === 'rejected');
    assert.equal(seen.filter(({ status }) => status === 'rejected').length, 1);
    refused.add(both[lost]?.client ?? '');
    const failed = seen[lost];
    assert.ok(failed?.status === 'rejected');
    assert.equal((failed.reason as Error).message, unknown.message);
    assert.equal((await app.bus.call('session.export', { session_key: key })).messageCount, 4);
  }
  assert.ok(refused.size > 0);
});

test('a deleted and recreated session belongs to its new creator', async () => {
  await using app = await testSessions();
  const [marys, carls] = [app.bus.as(mary), app.bus.as(carl)];
  await app.bus.as(wide(mary)).call('session.send', { key: KEY, message: 'hers' });
  await marys.call('session.reset', { session_key: KEY });
  await assert.rejects(carls.call('session.send', { key: KEY, message: 'not yet' }), denied);
  await app.bus.call('session.delete', { session_key: KEY });
  await app.bus.as(wide(carl)).call('session.send', { key: KEY, message: 'his' });
  await assert.rejects(marys.call('session.export', { session_key: KEY }), unknown);
  assert.equal((await carls.call('session.history', {})).messages[0]?.content, 'his');
  assert.deepEqual(await marys.call('session.history', {}), { messages: [] });
});

test('a token recreated under an old id is a different client without access to the old sessions', async () => {
  await using app = await testSessions();
  await app.bus.as(mary).call('agent.execute', { message: 'of the old one' });
  for (const sessions of ['tenant', 'own'] as const) {
    const again = principal({ client: 'mary.2', scopes: ['*'], ...(sessions === 'own' ? { sessions } : {}) });
    const bus = app.bus.as(again);
    assert.deepEqual(await bus.call('session.history', {}), { messages: [] });
    assert.equal((await bus.call('session.status', {})).tokensUsed.totalTokens, 0);
  }
});

test('a session without createdBy is readable by key and belongs to no client', async () => {
  await using data = await tempDir();
  {
    await using beside = await besides(data.path);
    await beside.mine.insert({ ...made(undefined), clients: ['mary'] } as SessionDocument);
  }
  await using app = await testSessions({ data: data.path });
  assert.equal((await app.bus.call('session.send', { key: KEY, message: 'still here' })).sessionKey, KEY);
  assert.equal((await app.bus.call('session.export', { session_key: KEY })).messageCount, 2);
  assert.equal((await app.bus.call('session.list', {})).total, 1);
  assert.deepEqual(await app.bus.call('session.history', {}), { messages: [] });
  await assert.rejects(app.bus.as(mary).call('session.history', { session_key: KEY }), unknown);
  await assert.rejects(app.bus.as(mary).call('session.send', { key: KEY, message: 'hello' }), denied);
});

test('a session of another client does not reveal that it is busy', async () => {
  const settings = { queue: { defaultOverflow: { maxDepth: 1 } }, daemon: { shutdownTimeoutMs: 300 } };
  await using app = await testSessions({ ...scripted, settings });
  const key = `agent:scripted:${KEY}`;
  const start = (who: Principal, name: string) =>
    app.bus.as(who).call('turns.start', {
      turnId: getTurnId(name),
      message: script({ wait: 60_000 }, { text: 'late' }),
      session: key,
      agentId: 'scripted',
    });
  await start(wide(carl), 'runs');
  await start(carl, 'waits');
  await assert.rejects(start(carl, 'more'), { code: 'RESOURCE_EXHAUSTED' });
  await assert.rejects(start(mary, 'probe'), denied);
  for (const method of ['session.reset', 'session.delete'] as const) {
    await assert.rejects(app.bus.as(carl).call(method, { session_key: key }), { details: { reason: 'SESSION_BUSY', retryable: true } });
    await assert.rejects(app.bus.as(mary).call(method, { session_key: key }), unknown);
  }
});

test('a client that becomes restricted to its own sessions loses its turns in sessions of others', async () => {
  await using app = await testSessions();
  await app.bus.as(wide(carl)).call('session.send', { key: KEY, message: 'his' });
  const turnId = getTurnId('before');
  const again = { message: 'hers, in his', session: KEY, idempotencyKey: 'k' };
  const received = listen(app.bus, turnId);
  await app.bus.as(wide(mary)).call('turns.start', { ...again, turnId });
  await received.until('done');
  assert.equal((await app.bus.as(wide(mary)).call('turns.resume', { turnId })).state, 'done');
  await assert.rejects(app.bus.as(mary).call('turns.resume', { turnId }), { code: 'NOT_FOUND' });
  await assert.rejects(app.bus.as(mary).call('turns.start', { ...again, turnId: getTurnId('after') }), unknown);
});

test('a turn stays with its client when its session is recreated by another client', async () => {
  await using app = await testSessions();
  const turnId = getTurnId('stays');
  const received = listen(app.bus, turnId);
  const key = 'default:mary:phone';
  await app.bus.as(mary).call('turns.start', { turnId, message: 'hers', session: key });
  await received.until('done');
  await app.bus.call('session.delete', { session_key: key });
  await app.bus.as(wide(carl)).call('session.send', { key, message: 'his' });
  assert.match((await app.bus.as(mary).call('turns.resume', { turnId })).result?.response ?? '', /hers/);
});

test('a turn that waited while its session was recreated by another client ends without reading it', async () => {
  await using data = await tempDir();
  // A queued turn is scanned once, at the age of orphanMs. By then its session has been removed and recreated.
  await using app = await testSessions({ ...scripted, data: data.path, timing: { orphanMs: 2_000, sweepMs: 50 } });
  const session = 'agent:scripted:default:mary:phone';
  const start = (who: Principal, turnId: string, message: string, into = session) =>
    app.bus.as(who).call('turns.start', { turnId, message, agentId: 'scripted', session: into });
  await start(admin, getTurnId('first'), script({ wait: 60_000 }, { text: 'first' }), 'elsewhere');
  const [hers, his] = [getTurnId('hers'), getTurnId('his')];
  const [heardHers, heardHis] = [listen(app.bus, hers), listen(app.bus, his)];
  await start(mary, hers, script({ text: 'never said' }));
  // No method removes a session with a queued turn. If it is removed anyway, the turn ends.
  await using beside = await besides(data.path);
  assert.equal(await beside.mine.remove({ key: session }), 1);
  await start(wide(carl), his, script({ text: 'said' }));
  await app.bus.as(admin).call('agent.cancel', { turnId: getTurnId('first') });
  const end = (await heardHers.until('error')).at(-1);
  assert.ok(end?.type === 'error');
  assert.deepEqual([end.error.code, end.error.message], [unknown.code, unknown.message]);
  await heardHis.until('done');
  assert.equal((await app.bus.as(carl).call('session.export', { session_key: session })).messageCount, 2);
});

test('a turn that starts later keeps the restrictions of its client on every process', async () => {
  await using data = await tempDir();
  const turnId = getTurnId('later');
  const reads = script({ tool: { name: 'session_history', input: { session_key: KEY } } }, { text: 'went on' });
  {
    await using app = await testSessions({ ...scripted, data: data.path, settings: { daemon: { shutdownTimeoutMs: 300 } } });
    await app.bus.as(wide(carl)).call('session.send', { key: KEY, message: 'his' });
    const busy = script({ wait: 400 }, { text: 'late' });
    await app.bus.call('turns.start', { turnId: getTurnId('busy'), agentId: 'scripted', message: busy });
    await app.bus.as(mary).call('turns.start', { turnId, agentId: 'scripted', message: reads });
  }
  await using app = await testSessions({ ...scripted, data: data.path });
  const received = listen(app.bus, turnId);
  if ((await app.bus.as(mary).call('turns.resume', { turnId })).state !== 'done') await received.until('done');
  await using beside = await besides(data.path);
  const { steps = [] } = (await beside.turns.for(mary).get(turnId)) ?? {};
  const marks = await loadCheckpoints(beside.bodies.for(mary), turnId, steps);
  assert.deepEqual(marks.at(-1), {
    mark: 'result',
    callId: 'call_1',
    result: { error: 'NOT_FOUND: Session not found.' },
    failed: true,
    error: { code: 'NOT_FOUND' },
  });
});

test('an enqueue without a preceding read yields to an existing session', async () => {
  await using data = await tempDir();
  await using beside = await besides(data.path);
  const { mine } = beside;
  const turn = { tenant: 'default', key: KEY, identity: { tenant: 'default', userId: 'somebody', channelId: 'phone' } };
  const arrival = (entry: string) => ({
    ...turn,
    agentId: 'default',
    client: 'mary',
    sessions: 'own' as const,
    entry,
    maxDepth: 5,
    now: 2,
  });
  const unread = { ...mine, get: () => assert.fail('it was looked at') } as Documents<SessionDocument>;
  await mine.replace(made('mary'));
  const first = await enqueue(unread, arrival('t1 2 default'), { free: true });
  assert.deepEqual([first.place, first.session?.waitsFor], ['waits', 'default.default  ']);
  const second = await enqueue(mine, arrival('t2 3 default'), { free: true });
  assert.deepEqual([second.place, second.session?.queue], ['queued', ['t1 2 default', 't2 3 default']]);
  assert.equal((await enqueue(mine, arrival('t2 3 default'), { free: true })).place, 'there');
});

test('a check that precedes a recreation allows no enqueue, reset or read afterwards', async () => {
  await using data = await tempDir();
  await using beside = await besides(data.path);
  const { mine, sessions, store } = beside;
  const becomesCarls = async (): Promise<void> => void (await mine.replace(made('carl')));
  /** Replaces the session by one of another client directly after it was read. */
  const looked = { ...mine, get: async (key: string) => mine.get(key).finally(becomesCarls) } as Documents<SessionDocument>;
  const identity = { tenant: 'default', userId: 'somebody', channelId: 'phone' };
  const taker = { owner: 'o', now: 2, leaseMs: 1 };
  for (const expected of [{ taker }, {}, { free: true }]) {
    await mine.replace({ ...made('mary'), depth: 5 });
    const turn = { tenant: 'default', key: KEY, identity, agentId: 'default', entry: 't 2 default', maxDepth: 1, now: 2 };
    await mine.replace(made('carl'));
    await assert.rejects(enqueue(mine, { ...turn, client: 'mary', sessions: 'own' }, expected), denied);
    assert.deepEqual(await mine.get(KEY), made('carl'));
  }

  await mine.replace(made('mary'));
  const lookedUp = { ...sessions, for: () => looked };
  const emptying = createSessionReset({ ...beside, sessions: lookedUp, store });
  const empty = emptying(mary, KEY, async (_, idle) => ({
    done: (await mine.update(idle, newEpochChange(3, []))) !== null,
    result: 'emptied',
  }));
  await assert.rejects(empty, { code: 'ABORTED' });
  assert.deepEqual(await mine.get(KEY), made('carl'));

  await mine.replace(made('mary'));
  const session = await requireSession(lookedUp, mary, KEY);
  await assert.rejects(readHistory(beside, mary, session), unknown);
});

test('rejects a client from a session named after it that another client created', async () => {
  await using app = await testSessions({ as: admin });
  const key = 'default:bob:phone';
  const bob = app.bus.as(principal({ client: 'bob', scopes: ['*'] }));
  await app.bus.as(wide(mary)).call('session.send', { key, message: 'waiting for bob' });
  const taken = { code: 'FAILED_PRECONDITION', details: { reason: 'SESSION_TAKEN' }, message: /default:bob:phone/ };
  await assert.rejects(bob.call('session.send', { key, message: 'my secret' }), taken);
  assert.equal((await app.bus.call('session.export', { session_key: key })).messageCount, 2);
  assert.equal((await bob.call('agent.execute', { message: 'hello', sessionKey: { channelId: 'fax' } })).sessionKey, 'default:bob:fax');
  await app.bus.call('session.delete', { session_key: key });
  await bob.call('session.send', { key, message: 'mine now' });
  await app.bus.call('session.send', { key, message: 'the tenant may still speak there' });
});

for (const sessions of ['tenant', 'own'] as const) {
  test(`nobody can take the default session of a client, whose token is for sessions: ${sessions}`, async () => {
    await using app = await testSessions({ as: admin });
    const key = 'default:bob:gateway';
    const bob = app.bus.as(principal({ client: 'bob', scopes: ['*'], ...(sessions === 'own' ? { sessions } : {}) }));
    await assert.rejects(app.bus.as(mary).call('session.send', { key, message: 'waiting for bob' }), denied);
    await app.bus.as(wide(mary)).call('session.send', { key, message: 'waiting for bob' });
    await bob.call('agent.execute', { message: 'hello' });
    assert.equal((await bob.call('session.history', {})).messages.length, 4);
    await assert.rejects(app.bus.as(mary).call('session.export', { session_key: key }), unknown);
  });
}

test('only the gateway creates sessions of webhooks, and only for the own mapping', async () => {
  await using app = await testSessions({ as: admin });
  const key = 'default:hook%3Aci%3Amain:webhook';
  const hook = (name: string) => app.bus.as(principal({ client: `webhook/${name}`, scopes: ['rpc'], sessions: 'own' }));
  const reserved = { code: 'PERMISSION_DENIED', details: { reason: 'SESSION_NAME' }, message: /hook:… are created by the product/ };
  await assert.rejects(app.bus.call('session.send', { key, message: 'forged' }), reserved);
  await assert.rejects(hook('other').call('session.send', { key, message: 'forged' }), reserved);
  await hook('ci').call('session.send', { key, message: 'built' });
  assert.equal((await app.bus.call('session.export', { session_key: key })).messageCount, 2);
});

test('a session without createdBy is adopted by the client it is named after', async () => {
  await using data = await tempDir();
  {
    await using beside = await besides(data.path);
    await beside.mine.insert({ ...made(undefined, 'default:admin:gateway'), userId: 'admin' });
  }
  await using app = await testSessions({ data: data.path, as: admin });
  await app.bus.as(principal({ client: 'somebody', scopes: ['*'] })).call('session.send', { key: 'default:admin:gateway', message: 'no' });
  assert.deepEqual(await app.bus.call('session.history', {}), { messages: [] });
  await app.bus.call('agent.execute', { message: 'yes' });
  assert.equal((await app.bus.call('session.history', {})).messages.length, 4);
});
