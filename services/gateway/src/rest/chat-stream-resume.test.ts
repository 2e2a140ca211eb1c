import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { deriveId, mintId, randomBase62 } from '@switchyard/security';
import { SECRETS } from '../gateway.fixture.ts';
import { allEvents, readEvents, RESULT, startTestTurns, type TestTurn } from '../turns/turns.fixture.ts';

/** As an EventSource asks, and as it comes back. */
const LISTENS = { accept: 'text/event-stream' };
/** The first event id that an EventSource with the token `rpc` receives. */
function firstId(): string {
  const nonce = randomBase62(22);
  return `${deriveId('turn', 'default', 'rpc', nonce)}:asked-${nonce}`;
}
const seen = (id: string): Record<string, string> => ({ ...LISTENS, 'last-event-id': id });

function answer(turn: TestTurn): void {
  turn.say('one ', 'two ', 'three');
  turn.done();
}

test('the client gets the turn id before the turn is accepted and resumes that turn', async () => {
  const asked: string[] = [];
  const accepting = Promise.withResolvers<void>();
  await using t = await startTestTurns(answer, {
    handlers: {
      async 'turns.start'({ turnId }) {
        asked.push(turnId);
        await accepting.promise;
        throw new ServiceError('UNAVAILABLE', 'The process is about to die.', { details: { mayHaveRun: true } });
      },
    },
  });
  const events = readEvents(await t.stream('message=hi', LISTENS));
  const first = (await events.next()).value;
  const [id] = asked;
  const told = first?.id ?? '';
  assert.match(told, new RegExp(`^${id}:asked-[0-9A-Za-z]{22}$`));
  assert.equal(first?.retry, '3000');
  accepting.resolve();
  assert.equal((await events.next()).done, true, 'nobody knows whether it is accepted: the client is to come back');
  await allEvents(await t.stream('message=hi', seen(told)));
  assert.deepEqual(asked, [id, id]);
});

test('a reconnect with that id finds one turn in any state', async () => {
  await using t = await startTestTurns();
  const id = firstId();
  const started = t.next();
  const first = readEvents(await t.stream('message=hi', seen(id)));
  const turn = await started;
  assert.ok(id.startsWith(`${turn.id}:asked-`));
  await first.return();
  turn.say('one ');
  const second = readEvents(await t.stream('message=hi', seen(id)));
  assert.equal((await second.next()).value?.id, id);
  assert.deepEqual((await second.next()).value?.data, { delta: 'one ', accumulated: 'one ' });
  turn.say('two ', 'three');
  turn.done();
  await second.return();
  const events = await allEvents(await t.stream('message=hi', seen(id)));
  assert.deepEqual(events.at(-1), { id: `${turn.id}:4`, event: 'done', data: RESULT });
  assert.equal((events.at(-2)?.data as { accumulated?: string } | undefined)?.accumulated, 'one two three');
  assert.equal(t.started.length, 1);
});

test('a rejected turn is an error event for EventSource and is not repeated', async () => {
  const details = { reason: 'TENANT_QUEUE_FULL', retryAfterMs: 500 };
  const refusal = new ServiceError('RESOURCE_EXHAUSTED', 'Too many wait.', { details });
  await using t = await startTestTurns(undefined, { handlers: { 'turns.start': () => Promise.reject(refusal) } });
  const [first, last] = await allEvents(await t.stream('message=hi', { ...LISTENS, 'x-request-id': 'r-1' }));
  const id = first?.id?.replace(/asked-.*/, 'refused');
  const data = { error: refusal.message, code: refusal.code, requestId: 'r-1', retryable: true, ...details };
  assert.deepEqual(last, { id, event: 'error', data });
  assert.equal((await t.stream('message=hi', seen(id ?? ''))).status, 204);
  assert.equal((await t.stream('message=hi')).status, 429, 'others are told by the status');
});

test('faults found by the gateway set the HTTP status', async () => {
  await using t = await startTestTurns();
  for (const [query, status] of [['message=', 400] as const, ['message=a&agentId=No+Id', 400] as const])
    assert.equal((await t.stream(query, LISTENS)).status, status);
  assert.equal((await t.stream('message=hi', { ...LISTENS, authorization: `Bearer ${SECRETS.mcp}` })).status, 403);
});

test('rejects turn ids of other clients and invented turn ids', async () => {
  await using t = await startTestTurns(answer);
  const told = (await allEvents(await t.stream('message=hi', LISTENS)))[0]?.id ?? '';
  const theirs = { ...seen(told), authorization: `Bearer ${SECRETS.all}` };
  const chosen = [`${t.started[0]?.id}:asked-${randomBase62(22)}`, `${mintId('turn')}:asked-${told.split('-')[1]}`];
  const asked = [theirs, ...chosen.map(seen)];
  for (const headers of asked) assert.equal((await t.stream('message=hi', headers)).status, 204);
  assert.equal(t.started.length, 1);
});

test('with a key it is the turn that the key names', async () => {
  await using t = await startTestTurns(answer);
  await allEvents(await t.stream('message=hi&idempotencyKey=k', LISTENS));
  const again = await allEvents(await t.stream('message=hi&idempotencyKey=k', LISTENS));
  assert.ok(!again[0]?.id?.startsWith(t.started[0]?.id ?? ''));
  const back = await allEvents(await t.stream('message=hi&idempotencyKey=k', seen(again[0]?.id ?? '')));
  for (const events of [again, back]) assert.deepEqual(events.at(-1), { id: `${t.started[0]?.id}:4`, event: 'done', data: RESULT });
  assert.equal(t.started.length, 1);
});
