import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventSource } from 'eventsource';
import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { SECRETS } from '../gateway.fixture.ts';
import { readAllEvents, readEvents, RESULT, startTestTurns, type ServerSentEvent, type TestTurn } from '../turns/turns.fixture.ts';
import { readError } from '../problem.fixture.ts';

const WORDS = ['one ', 'two ', 'three'];

function answer(turn: TestTurn): void {
  turn.sendText(...WORDS);
  turn.done();
}

/** All deltas, and the accumulated text of the last token. */
function tokens(events: ServerSentEvent[]): { deltas: string; accumulated: string | undefined } {
  const data = events.filter(({ event }) => event === 'token').map((event) => event.data as { delta: string; accumulated: string });
  return { deltas: data.map(({ delta }) => delta).join(''), accumulated: data.at(-1)?.accumulated };
}

test('streams tokens with the accumulated text and then the result', async () => {
  await using t = await startTestTurns((turn) => {
    turn.sendText('one ');
    turn.emit({ type: 'step', step: 1 });
    turn.sendText('two');
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
  assert.deepEqual(turn?.params, { turnId: turn?.id, message: 'hi', agentId: 'oslo', session: 'lobby' });
  const events = await readAllEvents(response);
  assert.deepEqual(events[0], { retry: '3000', id: `${turn.id}:0` });
  assert.deepEqual(tokens(events), { deltas: 'one two', accumulated: 'one two' });
  assert.deepEqual(events.at(-1), { id: `${turn.id}:5`, event: 'done', data: RESULT });
});

test('sends one complete event per frame', async () => {
  await using t = await startTestTurns();
  const started = t.next();
  const events = readEvents(await t.stream('message=hi'));
  const turn = await started;
  assert.equal((await events.next()).value?.id, `${turn.id}:0`);
  let accumulated = '';
  for (const [index, delta] of WORDS.entries()) {
    turn.sendText(delta);
    accumulated += delta;
    assert.deepEqual((await events.next()).value, { id: `${turn.id}:${index + 1}`, event: 'token', data: { delta, accumulated } });
  }
  turn.done();
  assert.equal((await events.next()).value?.event, 'done');
  assert.equal((await events.next()).done, true);
});

test('sends an approval event while the turn waits, stays open, and continues with the answer', async () => {
  await using t = await startTestTurns();
  const started = t.next();
  const events = readEvents(await t.stream('message=hi'));
  const turn = await started;
  await events.next();
  turn.sendText('one ');
  assert.equal((await events.next()).value?.event, 'token');
  turn.emit({ type: 'approval', requestId: 'appr_4fT0mUq2Zs8KxY1bNcVdGh', action: 'cron.remove' });
  assert.deepEqual((await events.next()).value, {
    id: `${turn.id}:2`,
    event: 'approval',
    data: { requestId: 'appr_4fT0mUq2Zs8KxY1bNcVdGh', action: 'cron.remove' },
  });
  turn.sendText('two');
  assert.deepEqual((await events.next()).value, { id: `${turn.id}:3`, event: 'token', data: { delta: 'two', accumulated: 'one two' } });
  turn.done();
  assert.equal((await events.next()).value?.event, 'done');
});

test('ends a failed turn with an error event without internal details', async () => {
  await using t = await startTestTurns((turn) => {
    turn.sendText('one ');
    turn.fail({ code: 'UNAVAILABLE', message: 'The model is away.', details: { retryAfterMs: 500, secret: 'x', turnId: turn.id } });
  });
  const response = await t.stream('message=hi', { 'x-request-id': 'r-1' });
  const events = await readAllEvents(response);
  const [turn] = t.started;
  const data = { error: 'The model is away.', code: 'UNAVAILABLE', requestId: 'r-1', retryable: true, retryAfterMs: 500, turnId: turn?.id };
  assert.deepEqual(events.at(-1), { id: `${turn?.id}:2`, event: 'error', data });
  assert.equal(tokens(events).deltas, 'one ');
  assert.equal((await t.stream('message=hi', { 'last-event-id': `${turn?.id}:2` })).status, 204);
});

test('rejects invalid requests before the stream starts', async () => {
  await using t = await startTestTurns();
  const refusals: [string, Record<string, string>, number, string][] = [
    ['', {}, 400, 'Missing required query parameter: message'],
    ['message=', {}, 400, 'Missing required query parameter: message'],
    ['message=a&message=b', {}, 400, 'Repeated query parameter: message'],
    ['message=a&agentId=Not+An+Id', {}, 400, 'Unknown agent: Not An Id'],
    ['message=a', { authorization: 'Bearer no' }, 401, 'Unauthorized'],
    ['message=a', { authorization: `Bearer ${SECRETS.mcp}` }, 403, 'Forbidden: insufficient scope'],
    ['message=a', { 'sec-purpose': 'prefetch;prerender' }, 403, 'Forbidden: turns cannot be prefetched'],
  ];
  for (const [query, headers, status, error] of refusals) {
    const response = await t.stream(query, headers);
    assert.deepEqual([response.status, await readError(response)], [status, { error }], query);
  }
  assert.equal(t.started.length, 0);
});

test('returns the status of a rejected turn', async () => {
  const error = new ServiceError('FAILED_PRECONDITION', 'The agent oslo is suspended.', { details: { reason: 'AGENT_SUSPENDED' } });
  await using t = await startTestTurns(undefined, { handlers: { 'turns.start': () => Promise.reject(error) } });
  const response = await t.stream('message=hi');
  assert.deepEqual([response.status, await readError(response)], [409, { error: error.message }]);
});

test('accepts the token in the query', async () => {
  await using t = await startTestTurns(answer);
  const open = (token: string) => fetch(`${t.gateway.url}/api/chat/stream?message=hi&token=${token}`);
  assert.equal((await readAllEvents(await open(SECRETS.rpc))).at(-1)?.event, 'done');
  assert.equal((await open(SECRETS.mcp)).status, 403);
  assert.equal((await open('wrong')).status, 401);
});

test('resumes after the last event without gaps and duplicates', async () => {
  await using t = await startTestTurns();
  const started = t.next();
  const first = readEvents(await t.stream('message=hi'));
  const turn = await started;
  await first.next();
  turn.sendText('one ');
  const last = (await first.next()).value?.id ?? '';
  assert.equal(last, `${turn.id}:1`);
  await first.return();
  turn.sendText('two ');
  turn.sendText('three ');
  const second = await t.stream('message=hi', { 'last-event-id': last });
  turn.sendText('four');
  turn.done();
  const events = await readAllEvents(second);
  assert.equal(events[0]?.id, last);
  assert.deepEqual(tokens(events), { deltas: 'two three four', accumulated: 'one two three four' });
  assert.equal(events.at(-1)?.event, 'done');
  assert.equal(t.started.length, 1);
});

test('sends a long response in a multiple of its length', async () => {
  const words = Array.from({ length: 3_000 }, (_, n) => `w${n} `);
  await using t = await startTestTurns();
  const started = t.next();
  const response = t.stream('message=hi');
  const turn = await started;
  for (const word of words) {
    turn.sendText(word);
    await new Promise((resolve) => setImmediate(resolve)); // sends each word separately
  }
  turn.done();
  const length = words.join('').length;
  const body = await (await response).text();
  assert.ok(body.includes(`"accumulated":${JSON.stringify(words.join(''))}`), 'the last event contains the whole text');
  assert.ok(body.length < 40 * length, `${body.length} characters for ${length}`);
});

test('accepts lastEventId in the query and resumes at every position', async () => {
  await using t = await startTestTurns((turn) => {
    turn.emit({ type: 'step', step: 1 });
    answer(turn);
  });
  const all = await readAllEvents(await t.stream('message=hi'));
  const [turn] = t.started;
  for (let n = 0; n < 5; n++) {
    const events = await readAllEvents(await t.stream(`message=hi&lastEventId=${turn?.id}:${n}`));
    assert.equal(tokens(events).deltas, WORDS.slice(Math.max(n - 1, 0)).join(''));
    assert.deepEqual(events.at(-1), all.at(-1));
  }
  assert.equal((await t.stream(`message=hi&lastEventId=${turn?.id}:5`)).status, 204);
  assert.equal(t.started.length, 1);
});

test('an id of another server gets a reset, starts no turn and ends the EventSource', async () => {
  await using t = await startTestTurns();
  for (const id of ['nonsense', '17', 'x'.repeat(300)]) {
    const response = await t.stream('message=hi', { accept: 'text/event-stream', 'last-event-id': id });
    const [reset] = await readAllEvents(response);
    assert.deepEqual([response.status, reset?.event, reset?.data], [200, 'stream:reset', { reason: 'UNKNOWN_ID' }]);
    assert.equal((await t.stream('message=hi', { 'last-event-id': reset?.id ?? '' })).status, 204);
  }
  assert.equal(t.started.length, 0);
});

test('returns 204 for an unknown turn and a turn of another client', async () => {
  await using t = await startTestTurns(answer);
  await readAllEvents(await t.stream('message=hi'));
  const ownPosition = { 'last-event-id': `${t.started[0]?.id}:0` };
  assert.equal((await t.stream('message=hi', { 'last-event-id': `${mintId('turn')}:3` })).status, 204);
  assert.equal((await t.stream('message=hi', { ...ownPosition, authorization: `Bearer ${SECRETS.all}` })).status, 204);
  assert.equal((await t.stream('message=hi', ownPosition)).status, 200);
  assert.equal(t.started.length, 1);
});

test('returns the result of an ended turn whose frames are lost', async () => {
  await using t = await startTestTurns();
  const turnId = mintId('turn');
  t.addStoredTurn({ turnId, sessionKey: 'default:rpc:gateway', state: 'done', lastFrame: 9, result: RESULT });
  const events = await readAllEvents(await t.stream('message=hi', { 'last-event-id': `${turnId}:4` }));
  assert.deepEqual(events, [
    { retry: '3000', id: `${turnId}:4` },
    { id: `${turnId}:9`, event: 'done', data: RESULT },
  ]);
});

test('lost frames are replaced by the stored text of the turn', async () => {
  await using t = await startTestTurns((turn) => {
    turn.sendText('one ');
    turn.skipFrame();
    turn.sendText('three');
    // Frame 0 is `accepted`, 2 is lost.
    Object.assign(turn.status, { soFar: { text: 'one two ', frame: 3, fence: 7 } });
    turn.done();
    Object.assign(turn.status, { state: 'running' });
  });
  const events = await readAllEvents(await t.stream('message=hi'));
  const id = (n: number): string => `${t.started[0]?.id}:${n}`;
  assert.deepEqual(events.slice(1), [
    { id: id(1), event: 'token', data: { delta: 'one ', accumulated: 'one ' } },
    { id: id(2), event: 'resumed', data: { accumulated: 'one two ' } },
    { id: id(3), event: 'token', data: { delta: 'three', accumulated: 'one two three' } },
    { id: id(4), event: 'done', data: RESULT },
  ]);
});

test('replaces the text after a takeover', async () => {
  await using t = await startTestTurns((turn) => {
    for (const text of ['one ', 'two ', 'twice ']) turn.emit({ type: 'delta', fence: 7, text });
    turn.emit({ type: 'resumed', fence: 9, text: 'one ' });
    turn.emit({ type: 'delta', fence: 9, text: 'other' });
    turn.emit({ type: 'done', fence: 9, result: RESULT });
  });
  const events = await readAllEvents(await t.stream('message=hi'));
  const resumed = events.filter(({ event }) => event === 'resumed');
  assert.deepEqual(
    resumed.map(({ data }) => data),
    [{ accumulated: 'one ' }],
  );
  assert.equal(tokens(events).accumulated, 'one other');
  assert.equal(events.at(-1)?.event, 'done');
});

test('ends the stream with an error and a resumable id after a lost frame', async () => {
  await using t = await startTestTurns((turn) => {
    turn.sendText('one ');
    turn.skipFrame();
    turn.sendText('three');
  });
  const last = (await readAllEvents(await t.stream('message=hi'))).at(-1);
  assert.equal(last?.event, 'error');
  assert.equal((last.data as { code: string }).code, 'DATA_LOSS');
  assert.equal(last.id, `${t.started[0]?.id}:1`);
});

test('follows the turn of a repeated idempotency key from its first frame', async () => {
  await using t = await startTestTurns(answer);
  const first = await readAllEvents(await t.stream('message=hi&idempotencyKey=k1'));
  const repeated = await t.stream('message=hi', { 'idempotency-key': 'k1' });
  assert.equal(repeated.headers.get('idempotency-replayed'), 'true');
  const events = await readAllEvents(repeated);
  assert.deepEqual(tokens(events), { deltas: WORDS.join(''), accumulated: WORDS.join('') });
  assert.deepEqual(events.at(-1), first.at(-1));
  assert.equal(t.started.length, 1);
});

test('ends the stream without done while the gateway drains', async () => {
  const t = await startTestTurns((turn) => turn.sendText('one '));
  const events = readEvents(await t.stream('message=hi'));
  await events.next();
  await events.next();
  const closed = t[Symbol.asyncDispose]();
  assert.equal((await events.next()).done, true);
  await closed;
});

/** Opens an EventSource with a short reconnect delay. Its first connection breaks after `breakAfter` bytes. */
function openSource(url: string, breakAfter = Infinity) {
  const lastEventIds: (string | null)[] = [];
  const statuses: number[] = [];
  const source = new EventSource(url, {
    fetch: async (input, init) => {
      lastEventIds.push(new Headers(init.headers).get('last-event-id'));
      const response = await fetch(input, init);
      statuses.push(response.status);
      if (!response.body) return response;
      let remaining = lastEventIds.length === 1 ? breakAfter : Infinity;
      const edit = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          const text = new TextDecoder().decode(chunk).replace('retry: 3000', 'retry: 1');
          controller.enqueue(new TextEncoder().encode(text));
          remaining -= text.length;
          if (remaining <= 0) controller.error(new Error('the connection broke'));
        },
      });
      return new Response(response.body.pipeThrough(edit), response);
    },
  });
  const received: { delta: string; accumulated: string }[] = [];
  source.addEventListener('token', ({ data }) => received.push(JSON.parse(data as string) as { delta: string; accumulated: string }));
  const done = new Promise<unknown>((resolve) => {
    source.addEventListener('done', ({ data }) => resolve(JSON.parse(data as string)));
  });
  const stopped = new Promise<void>((resolve) => {
    source.addEventListener('error', () => source.readyState === EventSource.CLOSED && resolve());
  });
  return { lastEventIds, statuses, received, done, stopped };
}

test('EventSource reconnects after a normal end, gets 204 and starts no second turn', async () => {
  await using t = await startTestTurns(answer);
  const source = openSource(`${t.gateway.url}/api/chat/stream?message=hi&token=${SECRETS.rpc}`);
  assert.deepEqual(await source.done, RESULT);
  await source.stopped;
  assert.deepEqual(source.statuses, [200, 204]);
  assert.deepEqual(source.lastEventIds, [null, `${t.started[0]?.id}:4`]);
  assert.equal(t.started.length, 1);
});

test('EventSource continues the same turn after a broken connection, even before the first token', async () => {
  for (const breakAfter of [1, 120]) {
    await using t = await startTestTurns();
    const started = t.next();
    const source = openSource(`${t.gateway.url}/api/chat/stream?message=hi&token=${SECRETS.rpc}`, breakAfter);
    const turn = await started;
    turn.sendText('one ');
    await t.gateway.bus.flush();
    turn.sendText('two ', 'three ');
    turn.sendText('four');
    turn.done();
    assert.deepEqual(await source.done, RESULT);
    await source.stopped;
    assert.equal(source.received.map(({ delta }) => delta).join(''), 'one two three four');
    assert.equal(source.received.at(-1)?.accumulated, 'one two three four');
    assert.deepEqual(source.statuses, [200, 200, 204]);
    assert.equal(t.started.length, 1);
  }
});
