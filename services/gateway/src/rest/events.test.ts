import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { EventSource } from 'eventsource';
import { EVENTS_LOG, type Principal } from '@switchyard/contracts';
import { SECRETS, startTestGateway, type TestGateway, type TestGatewayOptions } from '../gateway.fixture.ts';
import { readEvents, type ServerSentEvent } from '../turns/turns.fixture.ts';
import { readError } from '../problem.fixture.ts';

const PRINCIPAL: Principal = { tenant: 'default', client: 'test', scopes: ['*'] };

/** A gateway, and a publisher of events for a tenant. */
async function start(options: TestGatewayOptions = {}) {
  const gateway = await startTestGateway(options);
  await gateway.bus.log(EVENTS_LOG);
  return {
    gateway,
    open: (headers: Record<string, string> = {}, query = '') =>
      fetch(`${gateway.url}/api/events${query}`, { headers: { authorization: `Bearer ${SECRETS.rpc}`, ...headers } }),
    emitMessage: (content: string, tenant = 'default') =>
      gateway.bus.as({ ...PRINCIPAL, tenant }).emit('message:sent', { channelId: 'gateway', messageId: content, content }),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

async function take(events: AsyncGenerator<ServerSentEvent, void, void>, count: number): Promise<ServerSentEvent[]> {
  const result: ServerSentEvent[] = [];
  while (result.length < count) result.push((await events.next()).value ?? assert.fail('the stream ended'));
  return result;
}

const getContent = ({ data }: ServerSentEvent): unknown => (data as { content?: unknown }).content;

async function getPosition({ bus }: TestGateway): Promise<{ name: string; seq: number }> {
  return (await bus.log(EVENTS_LOG)).position();
}

test('streams events of the tenant with name, position and payload', async () => {
  await using t = await start();
  t.emitMessage('before');
  const response = await t.open();
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const events = readEvents(response);
  const { name } = await getPosition(t.gateway);
  assert.deepEqual((await events.next()).value, { retry: '3000', id: `${name}-1` });
  t.emitMessage('of somebody else', 'elsewhere');
  t.emitMessage('first');
  t.emitMessage('second');
  assert.deepEqual(await take(events, 2), [
    { id: `${name}-3`, event: 'message:sent', data: { channelId: 'gateway', messageId: 'first', content: 'first' } },
    { id: `${name}-4`, event: 'message:sent', data: { channelId: 'gateway', messageId: 'second', content: 'second' } },
  ]);
  await events.return();
});

test('streams progress without an id, and a resumed stream does not repeat it', async () => {
  await using t = await start();
  const events = readEvents(await t.open());
  const { name } = await getPosition(t.gateway);
  assert.deepEqual((await events.next()).value, { retry: '3000', id: `${name}-0` });
  const progress = { channelId: 'gateway', messageId: 'm', delta: 'a', accumulated: 'a' };
  const emitProgress = (tenant = 'default') => t.gateway.bus.as({ ...PRINCIPAL, tenant }).emit('message:streaming', progress);
  emitProgress('elsewhere');
  t.emitMessage('first');
  emitProgress();
  t.emitMessage('second');
  const seen = await take(events, 3);
  assert.deepEqual(
    seen.filter(({ event }) => event === 'message:sent').map(({ id }) => id),
    [`${name}-1`, `${name}-2`],
  );
  assert.deepEqual(
    seen.filter(({ event }) => event === 'message:streaming'),
    [{ event: 'message:streaming', data: progress }],
  );
  await events.return();
  const again = readEvents(await t.open({ 'last-event-id': `${name}-0` }));
  await again.next();
  assert.deepEqual((await take(again, 2)).map(getContent), ['first', 'second']);
  await again.return();
});

test('a resumed stream delivers missed events of its tenant once and in order, on any gateway', async () => {
  await using t = await start();
  const first = readEvents(await t.open());
  await first.next();
  t.emitMessage('0');
  const last = (await first.next()).value?.id ?? '';
  await first.return();
  for (let n = 1; n <= 250; n++) {
    t.emitMessage(String(n));
    t.emitMessage(`${n} elsewhere`, 'elsewhere');
  }
  for (const response of [await t.open({ 'last-event-id': last }), await t.open({}, `?lastEventId=${last}`)]) {
    const events = readEvents(response);
    assert.deepEqual((await events.next()).value, { retry: '3000', id: last });
    const missed = await take(events, 250);
    assert.deepEqual(
      missed.map(getContent),
      Array.from({ length: 250 }, (_, n) => String(n + 1)),
    );
    t.emitMessage('live');
    assert.deepEqual((await take(events, 1)).map(getContent), ['live']);
    await events.return();
    t.emitMessage('250.5', 'elsewhere');
  }
});

test('EventSource reconnects with its last event id', async () => {
  await using t = await start();
  const received: string[] = [];
  let breaker = new AbortController();
  const source = new EventSource(`${t.gateway.url}/api/events?token=${SECRETS.rpc}`, {
    fetch(url, init) {
      breaker = new AbortController();
      return fetch(url, { ...init, signal: AbortSignal.any([init.signal as AbortSignal, breaker.signal]) });
    },
  });
  const waitForOpen = () => new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));
  source.addEventListener('message:sent', ({ data }) => received.push((JSON.parse(String(data)) as { content: string }).content));
  await waitForOpen();
  const reopened = waitForOpen();
  t.emitMessage('one');
  while (received.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  breaker.abort(new TypeError('the network broke'));
  t.emitMessage('two');
  await reopened;
  t.emitMessage('three');
  while (received.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  source.close();
  assert.deepEqual(received, ['one', 'two', 'three']);
});

test('reports lost events and continues with the remaining ones', async () => {
  await using t = await start();
  const { name } = await getPosition(t.gateway);
  t.emitMessage('first');
  const large = 'x'.repeat(1_000_000);
  for (let n = 0; n < 40; n++) t.emitMessage(large); // more than the log of this profile holds
  t.emitMessage('last');
  const events = readEvents(await t.open({ 'last-event-id': `${name}-0` }));
  await events.next();
  const reset = (await events.next()).value ?? assert.fail('the stream ended');
  const { reason, from, to } = reset.data as { reason: string; from: string; to: string };
  assert.deepEqual([reset.event, reset.id, reason, from], ['stream:reset', to, 'TOO_OLD', `${name}-0`]);
  const rest = 42 - Number(to.split('-')[1]);
  assert.ok(rest < 42);
  const remaining = await take(events, rest);
  assert.equal(getContent(remaining.at(-1) ?? {}), 'last');
  await events.return();
});

test('reports a lost log and continues at the beginning of the new one', async () => {
  await using t = await start();
  const { name } = await getPosition(t.gateway);
  t.emitMessage('kept');
  const events = readEvents(await t.open({ 'last-event-id': 'another0log-7' }));
  assert.deepEqual((await events.next()).value, { retry: '3000', id: 'another0log-7' });
  const reset = { id: `${name}-0`, event: 'stream:reset', data: { reason: 'LOG_LOST', from: 'another0log-7', to: `${name}-0` } };
  assert.deepEqual((await events.next()).value, reset);
  assert.deepEqual((await take(events, 1)).map(getContent), ['kept']);
  await events.return();
});

test('an id of another server gets a reset and then live events', async () => {
  await using t = await start();
  t.emitMessage('before');
  const { name, seq } = await getPosition(t.gateway);
  for (const id of ['nonsense', '17', '0198c1f0-5d0e-7000-8000-000000000000', 'x'.repeat(300), `${name}-${seq + 1_000}`]) {
    const events = readEvents(await t.open({ accept: 'text/event-stream', 'last-event-id': id }));
    const { id: position } = (await events.next()).value ?? {};
    const from = id.slice(0, 64);
    const reset = { id: position, event: 'stream:reset', data: { reason: 'UNKNOWN_ID', from, to: position } };
    assert.deepEqual((await events.next()).value, reset, id);
    t.emitMessage(`after ${id}`);
    assert.deepEqual((await take(events, 1)).map(getContent), [`after ${id}`]);
    await events.return();
  }
});

test('rejects unauthorized and invalid requests', async () => {
  await using t = await start();
  await t.gateway.putToken({ id: 'own', secret: 'test-secret-for-its-own-sessions-00005', scopes: ['rpc'], sessions: 'own' });
  const cases: [Record<string, string>, number, string][] = [
    [{ authorization: 'Bearer no' }, 401, 'Unauthorized'],
    [{ authorization: `Bearer ${SECRETS.mcp}` }, 403, 'Forbidden: insufficient scope'],
    [{ authorization: `Bearer ${SECRETS.admin}` }, 403, 'Forbidden: insufficient scope'],
    [
      { authorization: 'Bearer test-secret-for-its-own-sessions-00005' },
      403,
      'Forbidden: this token is restricted to its own sessions, and events cover the whole tenant',
    ],
  ];
  for (const [headers, status, error] of cases) {
    const response = await t.open(headers);
    assert.deepEqual([response.status, await readError(response)], [status, { error }]);
  }
});

test('an EventSource that reconnects during an outage gets a retry delay', async () => {
  await using t = await start({ settings: { rateLimit: { windowMs: 60_000, maxRequests: 1 } } });
  const { name } = await getPosition(t.gateway);
  const sse = { accept: 'text/event-stream' };
  await (await t.open(sse)).body?.cancel();
  const refused = await t.open(sse);
  assert.equal(refused.status, 429, 'a client without a position is refused');
  const resumed = await t.open({ ...sse, 'last-event-id': `${name}-0` });
  assert.deepEqual([resumed.status, resumed.headers.get('content-type')], [200, 'text/event-stream']);
  assert.match(await resumed.text(), /^retry: \d{4,}\n\n$/);
});

test('without the log a resuming client retries its position and a new client gets an error', async () => {
  await using t = await start();
  const { name } = await getPosition(t.gateway);
  const { log } = t.gateway.edgeBus;
  const mockedLog = mock.method(t.gateway.edgeBus, 'log', () => Promise.reject(new Error('the log is gone')));
  const response = await t.open({ 'last-event-id': `${name}-0` });
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream']);
  assert.match(await response.text(), new RegExp(`^retry: 3000\\nid: ${name}-0\\n\\n$`));
  assert.equal((await t.open()).status, 500);
  mockedLog.mock.restore();
  assert.equal(t.gateway.edgeBus.log, log);
  t.emitMessage('after');
  const events = readEvents(await t.open({ 'last-event-id': `${name}-0` }));
  assert.equal(getContent((await take(events, 2)).at(-1) ?? {}), 'after');
  await events.return();
});
