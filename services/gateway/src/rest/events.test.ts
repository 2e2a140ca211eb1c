import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { EventSource } from 'eventsource';
import { EVENTS_LOG, type Principal } from '@switchyard/contracts';
import { SECRETS, startTestGateway, type TestGateway, type TestGatewayOptions } from '../gateway.fixture.ts';
import { readEvents, type ServerSentEvent } from '../turns/turns.fixture.ts';
import { errorOf } from '../problem.fixture.ts';

const HERE: Principal = { tenant: 'default', client: 'test', scopes: ['*'] };

/** A gateway, and a publisher of events for a tenant. */
async function start(options: TestGatewayOptions = {}) {
  const gateway = await startTestGateway(options);
  await gateway.bus.log(EVENTS_LOG);
  return {
    gateway,
    open: (headers: Record<string, string> = {}, query = '') =>
      fetch(`${gateway.url}/api/events${query}`, { headers: { authorization: `Bearer ${SECRETS.rpc}`, ...headers } }),
    say: (content: string, tenant = 'default') =>
      gateway.bus.as({ ...HERE, tenant }).emit('message:sent', { channelId: 'gateway', messageId: content, content }),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

async function take(events: AsyncGenerator<ServerSentEvent, void, void>, count: number): Promise<ServerSentEvent[]> {
  const taken: ServerSentEvent[] = [];
  while (taken.length < count) taken.push((await events.next()).value ?? assert.fail('the stream ended'));
  return taken;
}

const contentOf = ({ data }: ServerSentEvent): unknown => (data as { content?: unknown }).content;

async function positionOf({ bus }: TestGateway): Promise<{ name: string; seq: number }> {
  return (await bus.log(EVENTS_LOG)).position();
}

test('events of the tenant as they happen, each with its name, its place and its payload', async () => {
  await using t = await start();
  t.say('before');
  const response = await t.open();
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const events = readEvents(response);
  const { name } = await positionOf(t.gateway);
  assert.deepEqual((await events.next()).value, { retry: '3000', id: `${name}-1` });
  t.say('of somebody else', 'elsewhere');
  t.say('first');
  t.say('second');
  assert.deepEqual(await take(events, 2), [
    { id: `${name}-3`, event: 'message:sent', data: { channelId: 'gateway', messageId: 'first', content: 'first' } },
    { id: `${name}-4`, event: 'message:sent', data: { channelId: 'gateway', messageId: 'second', content: 'second' } },
  ]);
  await events.return();
});

test('a resumed stream delivers missed events of its tenant once and in order, on any gateway', async () => {
  await using t = await start();
  const first = readEvents(await t.open());
  await first.next();
  t.say('0');
  const last = (await first.next()).value?.id ?? '';
  await first.return();
  for (let n = 1; n <= 250; n++) {
    t.say(String(n));
    t.say(`${n} elsewhere`, 'elsewhere');
  }
  for (const again of [await t.open({ 'last-event-id': last }), await t.open({}, `?lastEventId=${last}`)]) {
    const events = readEvents(again);
    assert.deepEqual((await events.next()).value, { retry: '3000', id: last });
    const missed = await take(events, 250);
    assert.deepEqual(
      missed.map(contentOf),
      Array.from({ length: 250 }, (_, n) => String(n + 1)),
    );
    t.say('live');
    assert.deepEqual((await take(events, 1)).map(contentOf), ['live']);
    await events.return();
    t.say('250.5', 'elsewhere');
  }
});

test('the real EventSource comes back by itself with its last id', async () => {
  await using t = await start();
  const seen: string[] = [];
  let breaker = new AbortController();
  const source = new EventSource(`${t.gateway.url}/api/events?token=${SECRETS.rpc}`, {
    fetch(url, init) {
      breaker = new AbortController();
      return fetch(url, { ...init, signal: AbortSignal.any([init.signal as AbortSignal, breaker.signal]) });
    },
  });
  const opened = () => new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));
  source.addEventListener('message:sent', ({ data }) => seen.push((JSON.parse(String(data)) as { content: string }).content));
  await opened();
  const again = opened();
  t.say('one');
  while (seen.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  breaker.abort(new TypeError('the network broke'));
  t.say('two');
  await again;
  t.say('three');
  while (seen.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  source.close();
  assert.deepEqual(seen, ['one', 'two', 'three']);
});

test('reports lost events and continues with the remaining ones', async () => {
  await using t = await start();
  const { name } = await positionOf(t.gateway);
  t.say('first');
  const large = 'x'.repeat(1_000_000);
  for (let n = 0; n < 40; n++) t.say(large); // more than the log of this profile holds
  t.say('last');
  const events = readEvents(await t.open({ 'last-event-id': `${name}-0` }));
  await events.next();
  const reset = (await events.next()).value ?? assert.fail('the stream ended');
  const { reason, from, to } = reset.data as { reason: string; from: string; to: string };
  assert.deepEqual([reset.event, reset.id, reason, from], ['stream:reset', to, 'TOO_OLD', `${name}-0`]);
  const rest = 42 - Number(to.split('-')[1]);
  assert.ok(rest < 42);
  const left = await take(events, rest);
  assert.equal(contentOf(left.at(-1) ?? {}), 'last');
  await events.return();
});

test('a place in a log that is lost is told, and the new one follows from its beginning', async () => {
  await using t = await start();
  const { name } = await positionOf(t.gateway);
  t.say('kept');
  const events = readEvents(await t.open({ 'last-event-id': 'another0log-7' }));
  assert.deepEqual((await events.next()).value, { retry: '3000', id: 'another0log-7' });
  const reset = { id: `${name}-0`, event: 'stream:reset', data: { reason: 'LOG_LOST', from: 'another0log-7', to: `${name}-0` } };
  assert.deepEqual((await events.next()).value, reset);
  assert.deepEqual((await take(events, 1)).map(contentOf), ['kept']);
  await events.return();
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
    [{ 'last-event-id': 'nonsense' }, 400, 'Invalid Last-Event-ID: expected <log>-<n>'],
  ];
  for (const [headers, status, error] of cases) {
    const response = await t.open(headers);
    assert.deepEqual([response.status, await errorOf(response)], [status, { error }]);
  }
});

test('an EventSource that reconnects during an outage is asked to retry', async () => {
  await using t = await start({ settings: { rateLimit: { windowMs: 60_000, maxRequests: 1 } } });
  const { name } = await positionOf(t.gateway);
  const sse = { accept: 'text/event-stream' };
  await (await t.open(sse)).body?.cancel();
  const refused = await t.open(sse);
  assert.equal(refused.status, 429, 'who never began is refused');
  const back = await t.open({ ...sse, 'last-event-id': `${name}-0` });
  assert.deepEqual([back.status, back.headers.get('content-type')], [200, 'text/event-stream']);
  assert.match(await back.text(), /^retry: \d{4,}\n\n$/);
});

test('without the log a resuming client retries its position and a new client gets an error', async () => {
  await using t = await start();
  const { name } = await positionOf(t.gateway);
  const { log } = t.gateway.edgeBus;
  const away = mock.method(t.gateway.edgeBus, 'log', () => Promise.reject(new Error('the log is gone')));
  const response = await t.open({ 'last-event-id': `${name}-0` });
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream']);
  assert.match(await response.text(), new RegExp(`^retry: 3000\\nid: ${name}-0\\n\\n$`));
  assert.equal((await t.open()).status, 500);
  away.mock.restore();
  assert.equal(t.gateway.edgeBus.log, log);
  t.say('after');
  const events = readEvents(await t.open({ 'last-event-id': `${name}-0` }));
  assert.equal(contentOf((await take(events, 2)).at(-1) ?? {}), 'after');
  await events.return();
});
