import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Bus } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import { startService } from '@switchyard/service-kit';
import { openStore } from '@switchyard/store';
import { principal, tempDir } from '@switchyard/testkit';
import { sessionCollection } from '../model/session-document.ts';
import { turnCollection } from '../model/turn-document.ts';
import { formatEntry } from '../model/queue-entry.ts';
import { sessions } from '../service.ts';
import { listen, putAgent, removeAgent, testSessions, getTurnId } from '../sessions.fixture.ts';

const ONE_SLOT = { concurrency: { maxConcurrentRuns: 1 } };
const scripted = { agents: { scripted: { model: 'dev/scripted', ...ONE_SLOT }, wide: { model: 'dev/scripted' } } };
const content = (text: string, wait = 0): string => JSON.stringify([{ wait }, { text }]);

/** Changes the documents as other replicas and crashed processes do. */
async function besides(data: string) {
  const store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  const opened = await store.open({ sessions: sessionCollection, turns: turnCollection });
  const mine = { tenant: 'default' };
  return {
    sessions: opened.sessions.for(mine),
    turns: opened.turns.for(mine),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** Asks for turns, one after another: each call resolves when its turn is accepted, and `order` is that of their ends. */
function acceptedInto(bus: Bus, order: string[], ended: Promise<void>[]) {
  return async (name: string, userId: string, wait = 20): Promise<void> => {
    const turnId = getTurnId(name.replaceAll(' ', ''));
    const received = listen(bus, turnId);
    await bus.call('turns.start', { turnId, agentId: 'scripted', message: content(name, wait), session: { userId } });
    ended.push(received.until('done').then(() => void order.push(name)));
  };
}

test('concurrent turns are limited by maxDepth like sequential ones', async () => {
  await using app = await testSessions({ ...scripted, settings: { queue: { defaultOverflow: { maxDepth: 3 } } } });
  const answers = await Promise.allSettled(
    Array.from({ length: 30 }, (_, at) =>
      app.bus.call('turns.start', { turnId: getTurnId(`crowd${at}x`), agentId: 'scripted', message: content('x', 200) }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 4);
});

test('session.reset rejects a session with a waiting turn', async () => {
  await using app = await testSessions({ ...scripted });
  const [first, waiting] = [getTurnId('first'), getTurnId('waiting')];
  const start = (turnId: string, userId: string) =>
    app.bus.call('turns.start', { turnId, agentId: 'scripted', message: content('hello', 150), session: { userId } });
  await start(first, 'a');
  const received = listen(app.bus, waiting);
  await start(waiting, 'b');
  for (const method of ['session.delete', 'session.reset'] as const) {
    await assert.rejects(app.bus.call(method, { session_key: 'agent:scripted:default:b:gateway' }), {
      details: { reason: 'SESSION_BUSY', retryable: true },
    });
  }
  await received.until('done');
  const { messages } = await app.bus.call('session.history', { session_key: 'agent:scripted:default:b:gateway' });
  assert.equal(messages.length, 2);
});

test('the longest-waiting session gets the next slot, however many turns another session has', async () => {
  await using app = await testSessions(scripted);
  const order: string[] = [];
  const ended: Promise<void>[] = [];
  const sendRequest = acceptedInto(app.bus, order, ended);
  await sendRequest('1busy', 'busy', 500);
  await sendRequest('2busy', 'busy');
  await sendRequest('3patient', 'patient');
  await sendRequest('4busy', 'busy');
  await sendRequest('5busy', 'busy');
  await Promise.all(ended);
  assert.deepEqual(order, ['1busy', '2busy', '3patient', '4busy', '5busy']);
});

test('waiting turns end at once with the reason when their agent is deleted', async () => {
  await using app = await testSessions(scripted);
  const ids = ['1', '2', '3', '4', '5'].map((name) => getTurnId(`doomed${name}`));
  const received = ids.map((turnId) => listen(app.bus, turnId));
  for (const turnId of ids) await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: content('x', 2_000) });
  await removeAgent(app.host.bus, 'scripted');
  const started = performance.now();
  const ends = await Promise.all(received.slice(1).map((turn) => turn.until('error')));
  assert.ok(performance.now() - started < 10_000, 'they waited for a sweep');
  for (const frames of ends) {
    const end = frames.at(-1);
    assert.equal(end?.type === 'error' && end.error.details?.['reason'], 'AGENT_DELETED');
  }
});

test('two replicas that receive the same request accept one turn each, and the session continues', async () => {
  await using app = await testSessions(scripted);
  await using _second = await startService(sessions, app.host);
  const overlaps: string[] = [];
  let running: string | undefined;
  app.host.bus.subscribe(subjects.turns, (message) => {
    const { type } = JSON.parse(Buffer.from(message.data).toString()) as { type: string };
    if (type === 'step' && running !== undefined) overlaps.push(`${message.subject} beside ${running}`);
    if (type === 'step') running = message.subject;
    if (type === 'done' || type === 'error') running = undefined;
  });
  for (let at = 0; at < 20; at += 1) {
    const ask = (name: string, key: string) =>
      app.bus.call('turns.start', { turnId: getTurnId(`${name}${at}x`), agentId: 'wide', message: content('x', 2), idempotencyKey: key });
    const last = getTurnId(`last${at}x`);
    const received = listen(app.bus, last);
    const answers = await Promise.all([
      ask('same', `k${at}`),
      ask('same', `k${at}`),
      ask('same', `k${at}`),
      ask('other', `l${at}`),
      ask('another', `l${at}`),
    ]);
    assert.equal(new Set(answers.slice(0, 3).map(({ turnId }) => turnId)).size, 1);
    assert.equal(answers[3]?.turnId, answers[4]?.turnId);
    await app.bus.call('turns.start', { turnId: last, agentId: 'wide', message: content('x') });
    await received.until('done');
  }
  assert.deepEqual(overlaps, []);
  const { messages } = await app.bus.call('session.history', { session_key: 'agent:wide:default:test:gateway' });
  assert.equal(messages.length, 20 * 3 * 2);
});

test('a caller that waits on one replica gets the answer of a turn that runs on another', async () => {
  await using app = await testSessions(scripted);
  await using _second = await startService(sessions, app.host);
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, at) =>
      app.bus
        .call('agent.execute', { agentId: 'wide', message: content(`answer ${at}`, 5), idempotencyKey: 'k' + (at % 6) })
        .catch((error: Error) => error.message),
    ),
  );
  assert.equal(answers.filter((answer) => typeof answer === 'object').length, 6);
});

test('an idempotency key is scoped to client and method, and survives the deletion of the agent', async () => {
  await using app = await testSessions(scripted);
  const ask = () => app.bus.call('agent.execute', { agentId: 'wide', message: content('once'), idempotencyKey: 'k' });
  const first = await ask();
  const sent = await app.bus.call('session.send', {
    key: 'agent:wide:default:test:gateway',
    message: content('twice'),
    agentId: 'wide',
    idempotencyKey: 'k',
  });
  assert.equal(sent.response, 'twice');
  const service = app.bus.as(principal({ client: 'service', scopes: ['*'] }));
  const named = app.bus.as(principal({ client: 'service:a', scopes: ['*'] }));
  await named.call('agent.execute', { message: 'of the service', idempotencyKey: 'b', sessionKey: { userId: 'x' } });
  await service.call('agent.execute', { message: 'of a client', idempotencyKey: 'a:b', sessionKey: { userId: 'x' } });
  await removeAgent(app.host.bus, 'wide');
  assert.deepEqual(await ask(), first);
});

test('a turn that was done when its process died is counted once by the next lease holder', async () => {
  await using data = await tempDir();
  const turnId = getTurnId('unsettled');
  {
    await using app = await testSessions({ data: data.path });
    const received = listen(app.bus, turnId);
    await app.bus.call('turns.start', { turnId, message: 'hello' });
    await received.until('done');
  }
  const leave = async (): Promise<void> => {
    // As if the process had died between the two writes.
    await using beside = await besides(data.path);
    const turn = await beside.turns.get(turnId);
    assert.ok(turn);
    const mailbox = { queue: [formatEntry(turn)], depth: 1, leaseUntil: 1 };
    await beside.sessions.update({ key: 'default:test:gateway' }, { set: mailbox });
  };
  await leave();
  {
    await using beside = await besides(data.path);
    await beside.sessions.update({ key: 'default:test:gateway' }, { set: { messageCount: 0, inputTokens: 0, lastSeq: 0 } });
  }
  for (const counted of [2, 2]) {
    await using app = await testSessions({ data: data.path });
    const idle = async (): Promise<boolean> => (await beside.sessions.find({ depth: 0 })).items.length === 1;
    await using beside = await besides(data.path);
    while (!(await idle())) await setTimeout(10);
    assert.equal((await app.bus.call('session.list', {})).sessions[0]?.messageCount, counted);
    assert.equal((await app.bus.call('session.history', {})).messages.length, counted);
    // And once more, as if somebody had put it there again.
    await leave();
  }
});

test('publishes token usage in the tenant of the turn', async () => {
  await using app = await testSessions({});
  await putAgent(app.host.bus, 'default', { tenant: 'acme' });
  await app.host.bus.flush();
  const sent = new Promise<string>((resolve) => {
    app.bus.on('observability:token_usage', ({ tenant }) => resolve(tenant));
  });
  await app.bus.call('agent.execute', { message: 'hello' }).catch(() => undefined);
  await sent;
  const next = new Promise<string>((resolve) => {
    app.bus.on('observability:token_usage', ({ tenant }) => resolve(tenant));
  });
  await app.bus.as(principal({ tenant: 'acme' })).call('agent.execute', { message: 'hello' });
  assert.equal(await next, 'acme');
});
