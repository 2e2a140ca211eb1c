import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { deriveId, mintId, randomBase62 } from '@switchyard/security';
import { SECRETS } from '../gateway.fixture.ts';
import { readAllEvents, readEvents, RESULT, startTestTurns, type TestTurn } from '../turns/turns.fixture.ts';

/** Request headers of an EventSource. */
const EVENT_SOURCE_HEADERS = { accept: 'text/event-stream' };
/** The first event id that an EventSource with the token `rpc` receives. */
function createFirstId(): string {
  const nonce = randomBase62(22);
  return `${deriveId('turn', 'default', 'rpc', nonce)}:asked-${nonce}`;
}
const resumeFrom = (id: string): Record<string, string> => ({ ...EVENT_SOURCE_HEADERS, 'last-event-id': id });

function answer(turn: TestTurn): void {
  turn.sendText('one ', 'two ', 'three');
  turn.done();
}

test('the client gets the turn id before the turn is accepted and resumes that turn', async () => {
  const requestedIds: string[] = [];
  const accepting = Promise.withResolvers<void>();
  await using t = await startTestTurns(answer, {
    handlers: {
      async 'turns.start'({ turnId }) {
        requestedIds.push(turnId);
        await accepting.promise;
        throw new ServiceError('UNAVAILABLE', 'The process is about to die.', { details: { mayHaveRun: true } });
      },
    },
  });
  const events = readEvents(await t.stream('message=hi', EVENT_SOURCE_HEADERS));
  const first = (await events.next()).value;
  const [id] = requestedIds;
  const receivedId = first?.id ?? '';
  assert.match(receivedId, new RegExp(`^${id}:asked-[0-9A-Za-z]{22}$`));
  assert.equal(first?.retry, '3000');
  accepting.resolve();
  assert.equal((await events.next()).done, true, 'the outcome is unknown, so the client must reconnect');
  await readAllEvents(await t.stream('message=hi', resumeFrom(receivedId)));
  assert.deepEqual(requestedIds, [id, id]);
});

test('a reconnect with that id finds one turn in any state', async () => {
  await using t = await startTestTurns();
  const id = createFirstId();
  const started = t.next();
  const first = readEvents(await t.stream('message=hi', resumeFrom(id)));
  const turn = await started;
  assert.ok(id.startsWith(`${turn.id}:asked-`));
  await first.return();
  turn.sendText('one ');
  const second = readEvents(await t.stream('message=hi', resumeFrom(id)));
  assert.equal((await second.next()).value?.id, id);
  assert.deepEqual((await second.next()).value?.data, { delta: 'one ', accumulated: 'one ' });
  turn.sendText('two ', 'three');
  turn.done();
  await second.return();
  const events = await readAllEvents(await t.stream('message=hi', resumeFrom(id)));
  assert.deepEqual(events.at(-1), { id: `${turn.id}:4`, event: 'done', data: RESULT });
  assert.equal((events.at(-2)?.data as { accumulated?: string } | undefined)?.accumulated, 'one two three');
  assert.equal(t.started.length, 1);
});

test('a rejected turn is an error event for EventSource and is not repeated', async () => {
  const details = { reason: 'TENANT_QUEUE_FULL', retryAfterMs: 500 };
  const refusal = new ServiceError('RESOURCE_EXHAUSTED', 'Too many wait.', { details });
  await using t = await startTestTurns(undefined, { handlers: { 'turns.start': () => Promise.reject(refusal) } });
  const [first, last] = await readAllEvents(await t.stream('message=hi', { ...EVENT_SOURCE_HEADERS, 'x-request-id': 'r-1' }));
  const id = first?.id?.replace(/asked-.*/, 'refused');
  const data = { error: refusal.message, code: refusal.code, requestId: 'r-1', retryable: true, ...details };
  assert.deepEqual(last, { id, event: 'error', data });
  assert.equal((await t.stream('message=hi', resumeFrom(id ?? ''))).status, 204);
  assert.equal((await t.stream('message=hi')).status, 429, 'other clients get the status');
});

test('faults found by the gateway set the HTTP status', async () => {
  await using t = await startTestTurns();
  for (const [query, status] of [['message=', 400] as const, ['message=a&agentId=No+Id', 400] as const])
    assert.equal((await t.stream(query, EVENT_SOURCE_HEADERS)).status, status);
  assert.equal((await t.stream('message=hi', { ...EVENT_SOURCE_HEADERS, authorization: `Bearer ${SECRETS.mcp}` })).status, 403);
});

test('rejects turn ids of other clients and invented turn ids', async () => {
  await using t = await startTestTurns(answer);
  const eventId = (await readAllEvents(await t.stream('message=hi', EVENT_SOURCE_HEADERS)))[0]?.id ?? '';
  const otherClient = { ...resumeFrom(eventId), authorization: `Bearer ${SECRETS.all}` };
  const inventedIds = [`${t.started[0]?.id}:asked-${randomBase62(22)}`, `${mintId('turn')}:asked-${eventId.split('-')[1]}`];
  const attempts = [otherClient, ...inventedIds.map(resumeFrom)];
  for (const headers of attempts) assert.equal((await t.stream('message=hi', headers)).status, 204);
  assert.equal(t.started.length, 1);
});

test('follows the turn of the idempotency key', async () => {
  await using t = await startTestTurns(answer);
  await readAllEvents(await t.stream('message=hi&idempotencyKey=k', EVENT_SOURCE_HEADERS));
  const repeated = await readAllEvents(await t.stream('message=hi&idempotencyKey=k', EVENT_SOURCE_HEADERS));
  assert.ok(!repeated[0]?.id?.startsWith(t.started[0]?.id ?? ''));
  const resumed = await readAllEvents(await t.stream('message=hi&idempotencyKey=k', resumeFrom(repeated[0]?.id ?? '')));
  for (const events of [repeated, resumed]) assert.deepEqual(events.at(-1), { id: `${t.started[0]?.id}:4`, event: 'done', data: RESULT });
  assert.equal(t.started.length, 1);
});
