import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Params, Result } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { principal, startUpstream, tempDir, type Upstream } from '@switchyard/testkit';
import { ended, listen, testSessions, getTurnId } from '../sessions.fixture.ts';

type RequestParams = Params<'turns.once'>;

let requestCount = 0;

/** A response request as the gateway sends it. */
function request(more: Partial<RequestParams> = {}): RequestParams {
  const at = ++requestCount;
  const turnId = getTurnId(`response${at}`);
  const head = { id: `resp_${at}`, created: at };
  const response = { echo: { model: 'default', metadata: { at } } };
  return { turnId, model: 'default', message: 'hello there', idempotencyKey: turnId, fingerprint: 'f', head, response, ...more };
}

const get = (bus: Bus, turnId: string, talk = false): Promise<Result<'responses.get'>> => bus.call('responses.get', { turnId, talk });

function withUpstream(upstream: Upstream, more: Parameters<typeof testSessions>[0] = {}) {
  const entries = { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'one' }] } };
  return testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'lab', model: 'one' } }, ...more });
}

test('stores a response with its request, its text and the lengths of its pieces', async () => {
  await using app = await testSessions();
  const turn = request({
    history: [{ role: 'user', text: 'earlier' }],
    system: 'be brief',
    response: { echo: { a: 1 }, system: 'be kind' },
  });
  const receivedMessage = listen(app.bus, turn.turnId);
  await app.bus.call('turns.once', turn);
  await ended(app.bus, turn.turnId);
  const { state, createdAt, endedAt, echo, result, said, pieces, talk } = await get(app.bus, turn.turnId, true);
  assert.deepEqual([state, createdAt, echo], ['done', turn.head.created, { a: 1 }]);
  assert.ok(endedAt !== undefined && Math.abs(endedAt - Date.now() / 1_000) < 60);
  assert.match(said ?? '', /You said: hello there/);
  assert.equal(result?.response, said);
  assert.deepEqual(
    pieces,
    receivedMessage.frames.flatMap((frame) => (frame.type === 'delta' ? frame.text.length : [])),
  );
  assert.deepEqual(
    talk,
    { message: 'hello there', history: turn.history, system: 'be kind' },
    'instructions are no part of the conversation',
  );
  assert.equal((await get(app.bus, turn.turnId)).talk, undefined);
});

test('returns NOT_FOUND for a response of another client and for any other turn', async () => {
  await using app = await testSessions();
  const turn = request();
  await app.bus.call('turns.once', turn);
  const { response: _, ...other } = request();
  await app.bus.call('turns.once', other);
  const unknown = { code: 'NOT_FOUND' };
  for (const who of [{ client: 'other' }, { tenant: 'elsewhere' }]) {
    const bus = app.bus.as(principal(who));
    for (const name of ['responses.get', 'responses.cancel', 'responses.delete'] as const) {
      await assert.rejects(bus.call(name, { turnId: turn.turnId }), unknown);
    }
  }
  await assert.rejects(get(app.bus, other.turnId), unknown);
  await assert.rejects(get(app.bus, getTurnId('never')), unknown);
  assert.ok(await ended(app.bus, turn.turnId));
});

test('keeps a failed response with its partial text', async () => {
  await using upstream = await startUpstream({ kind: 'cut', text: 'one two three', afterTokens: 2 });
  await using app = await withUpstream(upstream);
  const turn = request();
  await app.bus.call('turns.once', turn);
  const { state } = await ended(app.bus, turn.turnId);
  const kept = await get(app.bus, turn.turnId);
  assert.deepEqual([state, kept.state, kept.failure?.code, kept.said], ['failed', 'failed', 'UNAVAILABLE', 'one two ']);
  assert.equal(
    kept.pieces?.reduce((sum, chars) => sum + chars, 0),
    kept.said?.length,
  );
});

test('stores nothing for a response that is rejected before it begins', async () => {
  await using app = await testSessions();
  const turn = request({ model: 'nobody' });
  await assert.rejects(app.bus.call('turns.once', turn), { code: 'NOT_FOUND' });
  await assert.rejects(get(app.bus, turn.turnId), { code: 'NOT_FOUND' });
});

test('responses.cancel ends the response, aborts the upstream request and notifies readers, and is idempotent', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });
  await using app = await withUpstream(upstream);
  const turn = request();
  const heard = listen(app.bus, turn.turnId);
  await app.bus.call('turns.once', turn);
  await heard.until('delta');
  const cancelled = await app.bus.call('responses.cancel', { turnId: turn.turnId });
  assert.deepEqual([cancelled.state, cancelled.failure?.details?.['reason']], ['cancelled', 'TURN_CANCELLED']);
  const frames = await heard.until('error');
  assert.equal(frames.filter(({ type }) => type === 'error').length, 1);
  await upstream.abandoned;
  assert.deepEqual(await app.bus.call('responses.cancel', { turnId: turn.turnId }), cancelled);
  assert.deepEqual(await get(app.bus, turn.turnId), cancelled);
});

test('responses.cancel leaves a completed response unchanged', async () => {
  await using app = await testSessions();
  const turn = request();
  await app.bus.call('turns.once', turn);
  await ended(app.bus, turn.turnId);
  const before = await get(app.bus, turn.turnId);
  assert.deepEqual(await app.bus.call('responses.cancel', { turnId: turn.turnId }), before);
});

test('responses.delete removes a response and cancels a running one first', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'x'.repeat(20_000) }, { kind: 'stall' });
  await using app = await withUpstream(upstream);
  for (const runs of [false, true]) {
    const turn = request();
    await app.bus.call('turns.once', turn);
    if (!runs) await ended(app.bus, turn.turnId);
    assert.deepEqual(await app.bus.call('responses.delete', { turnId: turn.turnId }), { deleted: true });
    await assert.rejects(get(app.bus, turn.turnId), { code: 'NOT_FOUND' });
    await assert.rejects(app.bus.call('responses.delete', { turnId: turn.turnId }), { code: 'NOT_FOUND' });
    if (runs) await upstream.abandoned;
  }
});

test('another replica runs a response again after its process was stopped', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one', afterTokens: 1 });
  await using data = await tempDir();
  const turn = request({ system: 'be brief' });
  const timing = { pollMs: 20 };
  {
    await using first = await withUpstream(upstream, { data: data.path, timing });
    await first.bus.call('turns.once', turn);
    await upstream.firstRequest;
  }
  upstream.respond({ kind: 'text', text: 'all of it' });
  await using second = await withUpstream(upstream, { data: data.path, timing });
  assert.equal((await ended(second.bus, turn.turnId)).state, 'done');
  assert.deepEqual([(await get(second.bus, turn.turnId)).said, upstream.requests.length], ['all of it', 2]);
  assert.deepEqual(upstream.requests[1]?.body['messages'], upstream.requests[0]?.body['messages']);
});
