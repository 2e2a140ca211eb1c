import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Params, Result, TurnFrame } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { principal, startUpstream, type Upstream } from '@switchyard/testkit';
import { newKeyedTurn } from '../model/keyed-turn-document.ts';
import { isKeyFree } from './idempotent-turn-runs.ts';
import { ended, listen, testSessions, getTurnId } from '../sessions.fixture.ts';

type RequestParams = Params<'turns.once'>;

let requested = 0;

/** A request with an idempotency key as the gateway sends it, with a new id and head each time. */
function request(more: Partial<RequestParams> = {}): RequestParams {
  const at = ++requested;
  const head = { id: `chatcmpl-${at}`, created: at };
  return { turnId: getTurnId(`once${at}`), model: 'default', message: 'hello', idempotencyKey: 'k1', fingerprint: 'f1', head, ...more };
}

function sendMessage(bus: Bus, more: Partial<RequestParams> = {}): Promise<Result<'turns.once'>> {
  return bus.call('turns.once', request(more));
}

/** Sessions whose default agent uses an upstream that counts requests. */
async function withUpstream(upstream: Upstream, more: Parameters<typeof testSessions>[0] = {}) {
  const entries = { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'one' }] } };
  return testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'lab', model: 'one' } }, ...more });
}

test('runs one turn for many requests with the same key, also concurrent ones', async () => {
  await using upstream = await startUpstream();
  await using app = await withUpstream(upstream);
  const all = await Promise.all(Array.from({ length: 20 }, () => sendMessage(app.bus)));
  assert.equal(new Set(all.map(({ turnId, head }) => `${turnId} ${head.id} ${head.created}`)).size, 1);
  const { state, result } = await ended(app.bus, all[0]?.turnId ?? '');
  assert.deepEqual([state, upstream.requests.length], ['done', 1]);
  const later = await sendMessage(app.bus);
  assert.deepEqual(later, all[0]);
  assert.equal((await app.bus.call('turns.resume', { turnId: later.turnId })).result?.response, result?.response);
  assert.equal(upstream.requests.length, 1);
});

test('rejects a different request with the same key, and scopes keys to clients', async () => {
  await using app = await testSessions();
  const { turnId } = await sendMessage(app.bus);
  await assert.rejects(sendMessage(app.bus, { fingerprint: 'f2' }), {
    code: 'INVALID_ARGUMENT',
    details: { reason: 'IDEMPOTENCY_MISMATCH', turnId },
  });
  await ended(app.bus, turnId);
  await assert.rejects(sendMessage(app.bus, { fingerprint: 'f2' }), { code: 'INVALID_ARGUMENT' });
  for (const who of [{ client: 'other' }, { tenant: 'elsewhere' }]) {
    const bus = app.bus.as(principal(who));
    if ('client' in who) assert.notEqual((await sendMessage(bus, { fingerprint: 'f2' })).turnId, turnId);
    await assert.rejects(bus.call('turns.resume', { turnId }), { code: 'NOT_FOUND' });
  }
});

test('publishes the frames of a stateless turn and adds nothing to any history', async () => {
  await using app = await testSessions();
  const turn = request({ message: 'hello there' });
  const received = listen(app.bus, turn.turnId);
  await app.bus.call('turns.once', turn);
  const frames = await received.until('done');
  assert.deepEqual([...new Set(frames.map(({ type }) => type))], ['accepted', 'step', 'delta', 'done']);
  assert.deepEqual(
    frames.map(({ n }) => n),
    frames.map((_, at) => at),
  );
  const content = frames.map((frame) => (frame.type === 'delta' ? frame.text : '')).join('');
  const end = frames.at(-1) as TurnFrame & { type: 'done' };
  assert.equal(content, end.result.response);
  const status = await app.bus.call('turns.resume', { turnId: turn.turnId });
  assert.deepEqual([status.result, status.lastFrame, status.soFar?.text], [end.result, frames.length - 1, content]);
  assert.equal((await app.bus.call('session.list', {})).total, 0);
  assert.deepEqual(await app.bus.call('session.history', {}), { messages: [] });
});

test('a reader without text pieces gets only tools and the end', async () => {
  await using app = await testSessions();
  const turn = request({ whole: true });
  const received = listen(app.bus, turn.turnId);
  await app.bus.call('turns.once', turn);
  const frames = await received.until('done');
  assert.deepEqual(
    frames.map(({ type }) => type),
    ['accepted', 'done'],
  );
});

test('a key whose turn was rejected is free again', async () => {
  await using app = await testSessions({ agents: { asleep: {} }, suspended: ['asleep'] });
  await assert.rejects(sendMessage(app.bus, { model: 'nobody/home', fingerprint: 'f1' }), { code: 'NOT_FOUND' });
  await assert.rejects(sendMessage(app.bus, { model: 'asleep', fingerprint: 'f2' }), { code: 'FAILED_PRECONDITION' });
  const { turnId } = await sendMessage(app.bus, { fingerprint: 'f3' });
  assert.equal((await ended(app.bus, turnId)).state, 'done');
});

test('a failed turn releases its key unless a tool was called; then the failure is returned again', async () => {
  await using app = await testSessions({ agents: { default: { model: 'dev/scripted' } } });
  const script = (...steps: object[]) => JSON.stringify(steps);
  const error = { error: { status: 503, message: 'away' } };

  const idle = request({ message: script({ text: 'a ' }, error) });
  const received = listen(app.bus, idle.turnId);
  await app.bus.call('turns.once', idle);
  const [failure] = (await received.until('error')).slice(-1);
  assert.equal(failure?.type === 'error' && failure.error.details?.['retryable'], true, JSON.stringify(failure));
  const again = await sendMessage(app.bus, { message: script({ text: 'b' }) });
  assert.notEqual(again.turnId, idle.turnId);

  const acts = { idempotencyKey: 'k2', message: script({ tool: { name: 'session_history', input: {} } }, error) };
  const first = await sendMessage(app.bus, acts);
  const { state, failure: sent } = await ended(app.bus, first.turnId);
  assert.deepEqual([state, sent?.details?.['retryable']], ['failed', false], JSON.stringify(sent));
  assert.deepEqual(await sendMessage(app.bus, acts), first);
});

// The lease is given up at its first renewal, long before another replica could take the turn over.
const GIVEN_UP = { leaseMs: 600_000, renewMs: 1_000, giveUpMs: 900, pollMs: 20 };

test('a response whose lease is given up without a takeover runs again', async () => {
  await using upstream = await startUpstream();
  await using app = await withUpstream(upstream, { timing: GIVEN_UP });
  upstream.respond({ kind: 'stall', text: 'x', afterTokens: 1 }, { kind: 'text', text: 'second answer' });
  const { turnId } = await sendMessage(app.bus, { response: { echo: {} } });
  const { state, failure, result } = await ended(app.bus, turnId);
  assert.deepEqual([state, failure, result?.response], ['done', undefined, 'second answer']);
});

test('a turn that cannot run again reports an interruption when its lease is given up, and releases its key', async () => {
  await using upstream = await startUpstream();
  await using app = await withUpstream(upstream, { timing: GIVEN_UP });
  upstream.respond({ kind: 'stall', text: 'x', afterTokens: 1 }, { kind: 'text', text: 'second answer' });
  const interrupted = request();
  const received = listen(app.bus, interrupted.turnId);
  await app.bus.call('turns.once', interrupted);
  const [frame] = (await received.until('error')).slice(-1);
  const { code, details } = frame?.type === 'error' ? frame.error : assert.fail();
  assert.deepEqual([code, details?.['reason'], details?.['retryable']], ['UNAVAILABLE', 'INTERRUPTED', true]);
  assert.notEqual((await sendMessage(app.bus)).turnId, interrupted.turnId);
});

test('a key is free after a day and not before, and never while its turn runs', () => {
  const DAY = 86_400_000;
  const turn = {
    ...newKeyedTurn(),
    key: 'a k',
    turnId: getTurnId('x'),
    client: 'a',
    fingerprint: 'f',
    head: { id: 'h', created: 1 },
    toolsCalled: false,
  };
  const kept = (more: object) => ({ ...turn, forgetAt: DAY, ...more });
  const failed = (retryable: boolean) => ({ failure: { code: 'UNAVAILABLE', message: 'away', details: { retryable } } as const });
  const cases: [object, now: number, free: boolean][] = [
    [{ state: 'done' }, DAY - 1, false],
    [{ state: 'done' }, DAY, true],
    [{ state: 'failed', ...failed(false) }, 1, false],
    [{ state: 'failed', ...failed(true) }, 1, true],
    [{ state: 'running', leaseUntil: DAY + 5 }, DAY, false],
    [{ state: 'running', leaseUntil: 5 }, 10, false],
    [{ state: 'queued' }, DAY, true],
  ];
  for (const [more, now, free] of cases) assert.equal(isKeyFree(kept(more), now), free, JSON.stringify(more));
});
