import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventSource } from 'eventsource';
import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { SECRETS } from '../gateway.fixture.ts';
import { allEvents, readEvents, RESULT, startTestTurns, type ServerSentEvent, type TestTurn } from '../turns/turns.fixture.ts';
import { errorOf } from '../problem.fixture.ts';

const WORDS = ['one ', 'two ', 'three'];

function answer(turn: TestTurn): void {
  turn.say(...WORDS);
  turn.done();
}

/** All deltas, and what the last token says they amount to. */
function tokens(events: ServerSentEvent[]): { deltas: string; accumulated: string | undefined } {
  const data = events.filter(({ event }) => event === 'token').map((event) => event.data as { delta: string; accumulated: string });
  return { deltas: data.map(({ delta }) => delta).join(''), accumulated: data.at(-1)?.accumulated };
}

test('tokens with what they amount to, then the result', async () => {
  await using t = await startTestTurns((turn) => {
    turn.say('one ');
    turn.emit({ type: 'step', step: 1 });
    turn.say('two');
    turn.emit({ type: 'alive' });
    turn.done();
  });
  const response = await t.stream('message=hi&agentId=oslo&sessionKey=lobby&_=123');
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.equal(response.headers.get('x-accel-buffering'), 'no');
  assert.ok(response.headers.get('x-request-id'));
  const [turn] = t.started;
  assert.deepEqual(turn?.asked, { turnId: turn?.id, message: 'hi', agentId: 'oslo', session: 'lobby' });
  const events = await allEvents(response);
  assert.deepEqual(events[0], { retry: '3000', id: `${turn.id}:0` });
  assert.deepEqual(tokens(events), { deltas: 'one two', accumulated: 'one two' });
  assert.deepEqual(events.at(-1), { id: `${turn.id}:5`, event: 'done', data: RESULT });
});

test('every event comes as its frame does, in one piece', async () => {
  await using t = await startTestTurns();
  const started = t.next();
  const events = readEvents(await t.stream('message=hi'));
  const turn = await started;
  assert.equal((await events.next()).value?.id, `${turn.id}:0`);
  let accumulated = '';
  for (const [at, delta] of WORDS.entries()) {
    turn.say(delta);
    accumulated += delta;
    assert.deepEqual((await events.next()).value, { id: `${turn.id}:${at + 1}`, event: 'token', data: { delta, accumulated } });
  }
  turn.done();
  assert.equal((await events.next()).value?.event, 'done');
  assert.equal((await events.next()).done, true);
});

test('a failed turn ends with an error event that says what a program may know', async () => {
  await using t = await startTestTurns((turn) => {
    turn.say('one ');
    turn.fail({ code: 'UNAVAILABLE', message: 'The model is away.', details: { retryAfterMs: 500, secret: 'x', turnId: turn.id } });
  });
  const response = await t.stream('message=hi', { 'x-request-id': 'r-1' });
  const events = await allEvents(response);
  const [turn] = t.started;
  const data = { error: 'The model is away.', code: 'UNAVAILABLE', requestId: 'r-1', retryable: true, retryAfterMs: 500, turnId: turn?.id };
  assert.deepEqual(events.at(-1), { id: `${turn?.id}:2`, event: 'error', data });
  assert.equal(tokens(events).deltas, 'one ');
  assert.equal((await t.stream('message=hi', { 'last-event-id': `${turn?.id}:2` })).status, 204);
});

test('invalid requests fail before the stream begins', async () => {
  await using t = await startTestTurns();
  const refusals: [string, Record<string, string>, number, string][] = [
    ['', {}, 400, 'Missing required query parameter: message'],
    ['message=', {}, 400, 'Missing required query parameter: message'],
    ['message=a&message=b', {}, 400, 'Repeated query parameter: message'],
    ['message=a&agentId=Not+An+Id', {}, 400, 'Unknown agent: Not An Id'],
    ['message=a', { 'last-event-id': 'nonsense' }, 400, 'Invalid Last-Event-ID: expected <turnId>:<n>'],
    ['message=a', { authorization: 'Bearer no' }, 401, 'Unauthorized'],
    ['message=a', { authorization: `Bearer ${SECRETS.mcp}` }, 403, 'Forbidden: insufficient scope'],
    ['message=a', { 'sec-purpose': 'prefetch;prerender' }, 403, 'Forbidden: turns cannot be prefetched'],
  ];
  for (const [query, headers, status, error] of refusals) {
    const response = await t.stream(query, headers);
    assert.deepEqual([response.status, await errorOf(response)], [status, { error }], query);
  }
  assert.equal(t.started.length, 0);
});

test('a refused turn has its status', async () => {
  const error = new ServiceError('FAILED_PRECONDITION', 'The agent oslo is suspended.', { details: { reason: 'AGENT_SUSPENDED' } });
  await using t = await startTestTurns(undefined, { handlers: { 'turns.start': () => Promise.reject(error) } });
  const response = await t.stream('message=hi');
  assert.deepEqual([response.status, await errorOf(response)], [409, { error: error.message }]);
});

test('the token may come in the query', async () => {
  await using t = await startTestTurns(answer);
  const open = (token: string) => fetch(`${t.gateway.url}/api/chat/stream?message=hi&token=${token}`);
  assert.equal((await allEvents(await open(SECRETS.rpc))).at(-1)?.event, 'done');
  assert.equal((await open(SECRETS.mcp)).status, 403);
  assert.equal((await open('wrong')).status, 401);
});

test('a client that comes back gets the rest: nothing twice, nothing missing', async () => {
  await using t = await startTestTurns();
  const started = t.next();
  const first = readEvents(await t.stream('message=hi'));
  const turn = await started;
  await first.next();
  turn.say('one ');
  const last = (await first.next()).value?.id ?? '';
  assert.equal(last, `${turn.id}:1`);
  await first.return();
  turn.say('two ');
  turn.say('three ');
  const second = await t.stream('message=hi', { 'last-event-id': last });
  turn.say('four');
  turn.done();
  const events = await allEvents(second);
  assert.equal(events[0]?.id, last);
  assert.deepEqual(tokens(events), { deltas: 'two three four', accumulated: 'one two three four' });
  assert.equal(events.at(-1)?.event, 'done');
  assert.equal(t.started.length, 1);
});

test('a long answer costs a multiple of its length, not its square', async () => {
  const words = Array.from({ length: 3_000 }, (_, n) => `w${n} `);
  await using t = await startTestTurns();
  const started = t.next();
  const response = t.stream('message=hi');
  const turn = await started;
  for (const word of words) {
    turn.say(word);
    await new Promise((resolve) => setImmediate(resolve)); // each comes by itself
  }
  turn.done();
  const length = words.join('').length;
  const body = await (await response).text();
  assert.ok(body.includes(`"accumulated":${JSON.stringify(words.join(''))}`), 'the last event holds all of it');
  assert.ok(body.length < 40 * length, `${body.length} characters for ${length}`);
});

test('the id may come in the query, and at every point the rest is whole', async () => {
  await using t = await startTestTurns((turn) => {
    turn.emit({ type: 'step', step: 1 });
    answer(turn);
  });
  const all = await allEvents(await t.stream('message=hi'));
  const [turn] = t.started;
  for (let n = 0; n < 5; n++) {
    const events = await allEvents(await t.stream(`message=hi&lastEventId=${turn?.id}:${n}`));
    assert.equal(tokens(events).deltas, WORDS.slice(Math.max(n - 1, 0)).join(''));
    assert.deepEqual(events.at(-1), all.at(-1));
  }
  assert.equal((await t.stream(`message=hi&lastEventId=${turn?.id}:5`)).status, 204);
  assert.equal(t.started.length, 1);
});

test('nobody gets anything of a turn that is unknown, or not theirs', async () => {
  await using t = await startTestTurns(answer);
  await allEvents(await t.stream('message=hi'));
  const mine = { 'last-event-id': `${t.started[0]?.id}:0` };
  assert.equal((await t.stream('message=hi', { 'last-event-id': `${mintId('turn')}:3` })).status, 204);
  assert.equal((await t.stream('message=hi', { ...mine, authorization: `Bearer ${SECRETS.all}` })).status, 204);
  assert.equal((await t.stream('message=hi', mine)).status, 200);
  assert.equal(t.started.length, 1);
});

test('an ended turn whose frames are gone still tells its end', async () => {
  await using t = await startTestTurns();
  const turnId = mintId('turn');
  t.forget({ turnId, sessionKey: 'default:rpc:gateway', state: 'done', lastFrame: 9, result: RESULT });
  const events = await allEvents(await t.stream('message=hi', { 'last-event-id': `${turnId}:4` }));
  assert.deepEqual(events, [
    { retry: '3000', id: `${turnId}:4` },
    { id: `${turnId}:9`, event: 'done', data: RESULT },
  ]);
});

test('lost frames are replaced by the stored text of the turn', async () => {
  await using t = await startTestTurns((turn) => {
    turn.say('one ');
    turn.lose();
    turn.say('three');
    // Frame 0 is `accepted`, 2 is lost.
    Object.assign(turn.status, { soFar: { text: 'one two ', frame: 3, fence: 7 } });
    turn.done();
    Object.assign(turn.status, { state: 'running' });
  });
  const events = await allEvents(await t.stream('message=hi'));
  const id = (n: number): string => `${t.started[0]?.id}:${n}`;
  assert.deepEqual(events.slice(1), [
    { id: id(1), event: 'token', data: { delta: 'one ', accumulated: 'one ' } },
    { id: id(2), event: 'resumed', data: { accumulated: 'one two ' } },
    { id: id(3), event: 'token', data: { delta: 'three', accumulated: 'one two three' } },
    { id: id(4), event: 'done', data: RESULT },
  ]);
});

test('after a takeover the text of the new runner counts', async () => {
  await using t = await startTestTurns((turn) => {
    for (const text of ['one ', 'two ', 'twice ']) turn.emit({ type: 'delta', fence: 7, text });
    turn.emit({ type: 'resumed', fence: 9, text: 'one ' });
    turn.emit({ type: 'delta', fence: 9, text: 'other' });
    turn.emit({ type: 'done', fence: 9, result: RESULT });
  });
  const events = await allEvents(await t.stream('message=hi'));
  const resumed = events.filter(({ event }) => event === 'resumed');
  assert.deepEqual(
    resumed.map(({ data }) => data),
    [{ accumulated: 'one ' }],
  );
  assert.equal(tokens(events).accumulated, 'one other');
  assert.equal(events.at(-1)?.event, 'done');
});

test('a lost frame that nobody kept ends the stream with an error and the id to come back with', async () => {
  await using t = await startTestTurns((turn) => {
    turn.say('one ');
    turn.lose();
    turn.say('three');
  });
  const last = (await allEvents(await t.stream('message=hi'))).at(-1);
  assert.equal(last?.event, 'error');
  assert.equal((last.data as { code: string }).code, 'DATA_LOSS');
  assert.equal(last.id, `${t.started[0]?.id}:1`);
});

test('the same idempotency key follows the turn it named, from its beginning', async () => {
  await using t = await startTestTurns(answer);
  const first = await allEvents(await t.stream('message=hi&idempotencyKey=k1'));
  const again = await t.stream('message=hi', { 'idempotency-key': 'k1' });
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  const events = await allEvents(again);
  assert.deepEqual(tokens(events), { deltas: WORDS.join(''), accumulated: WORDS.join('') });
  assert.deepEqual(events.at(-1), first.at(-1));
  assert.equal(t.started.length, 1);
});

test('a draining gateway ends the stream without done, so that the client comes back elsewhere', async () => {
  const t = await startTestTurns((turn) => turn.say('one '));
  const events = readEvents(await t.stream('message=hi'));
  await events.next();
  await events.next();
  const closed = t[Symbol.asyncDispose]();
  assert.equal((await events.next()).done, true);
  await closed;
});

/** EventSource with a short wait before it comes back, and a connection that breaks after `breakAfter` bytes of the first answer. */
function openSource(url: string, breakAfter = Infinity) {
  const asked: (string | null)[] = [];
  const statuses: number[] = [];
  const source = new EventSource(url, {
    fetch: async (input, init) => {
      asked.push(new Headers(init.headers).get('last-event-id'));
      const response = await fetch(input, init);
      statuses.push(response.status);
      if (!response.body) return response;
      let left = asked.length === 1 ? breakAfter : Infinity;
      const edit = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          const text = new TextDecoder().decode(chunk).replace('retry: 3000', 'retry: 1');
          controller.enqueue(new TextEncoder().encode(text));
          left -= text.length;
          if (left <= 0) controller.error(new Error('the connection broke'));
        },
      });
      return new Response(response.body.pipeThrough(edit), response);
    },
  });
  const heard: { delta: string; accumulated: string }[] = [];
  source.addEventListener('token', ({ data }) => heard.push(JSON.parse(data as string) as { delta: string; accumulated: string }));
  const done = new Promise<unknown>((resolve) => {
    source.addEventListener('done', ({ data }) => resolve(JSON.parse(data as string)));
  });
  const stopped = new Promise<void>((resolve) => {
    source.addEventListener('error', () => source.readyState === EventSource.CLOSED && resolve());
  });
  return { asked, statuses, heard, done, stopped };
}

test('EventSource comes back after a normal end, is told to stop, and no second turn runs', async () => {
  await using t = await startTestTurns(answer);
  const source = openSource(`${t.gateway.url}/api/chat/stream?message=hi&token=${SECRETS.rpc}`);
  assert.deepEqual(await source.done, RESULT);
  await source.stopped;
  assert.deepEqual(source.statuses, [200, 204]);
  assert.deepEqual(source.asked, [null, `${t.started[0]?.id}:4`]);
  assert.equal(t.started.length, 1);
});

test('EventSource whose connection breaks goes on with the same turn, even before the first token', async () => {
  for (const breakAfter of [1, 120]) {
    await using t = await startTestTurns();
    const started = t.next();
    const source = openSource(`${t.gateway.url}/api/chat/stream?message=hi&token=${SECRETS.rpc}`, breakAfter);
    const turn = await started;
    turn.say('one ');
    await t.gateway.bus.flush();
    turn.say('two ', 'three ');
    turn.say('four');
    turn.done();
    assert.deepEqual(await source.done, RESULT);
    await source.stopped;
    assert.equal(source.heard.map(({ delta }) => delta).join(''), 'one two three four');
    assert.equal(source.heard.at(-1)?.accumulated, 'one two three four');
    assert.deepEqual(source.statuses, [200, 200, 204]);
    assert.equal(t.started.length, 1);
  }
});
