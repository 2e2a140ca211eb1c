import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServiceError, type ServiceError } from '@switchyard/contracts';
import { principal } from '@switchyard/testkit';
import { startTestGateway } from '../gateway.fixture.ts';
import type { Caller } from '../request/caller.ts';
import { createOverloadCache } from './overload-cache.ts';

const METHOD = 'agent.execute';
const caller = (tenant = 'default', agent?: string): Caller => ({ principal: principal({ tenant, ...(agent && { agent }) }) }) as Caller;
const encodeParams = (params: object): Uint8Array => Buffer.from(JSON.stringify({ message: 'hello', ...params }));
const fullFor = (ms: number, agentId = 'a', standard = true, tries?: { calls: number; everyMs: number }): ServiceError =>
  createServiceError('RESOURCE_EXHAUSTED', `full: ${agentId}`, {
    details: { retryAfterMs: 1_000, fullFor: { ms, agentId, standard, tries } },
  });

function createTestCache() {
  const clock = { time: 0, now: () => clock.time };
  return { clock, cache: createOverloadCache(clock) };
}

test('caches a rejection for the time of the service, at most 100 ms', () => {
  const { clock, cache } = createTestCache();
  const error = fullFor(10);
  assert.equal(cache.findRejection(METHOD, caller(), encodeParams({})), undefined);
  cache.recordRejection(METHOD, caller(), error);
  assert.equal(cache.findRejection(METHOD, caller(), encodeParams({})), error);
  clock.time = 9.9;
  assert.equal(cache.findRejection(METHOD, caller(), encodeParams({})), error);
  clock.time = 10;
  assert.equal(cache.findRejection(METHOD, caller(), encodeParams({})), undefined);
  cache.recordRejection(METHOD, caller(), fullFor(60_000));
  clock.time += 100;
  assert.equal(cache.findRejection(METHOD, caller(), encodeParams({})), undefined);
});

test('lets through a doubling number of calls per round until one is rejected', () => {
  const { clock, cache } = createTestCache();
  const error = fullFor(10, 'a', true, { calls: 2, everyMs: 10 });
  const countForwarded = (calls: number): number =>
    Array.from({ length: calls }, () => cache.findRejection(METHOD, caller(), encodeParams({}))).filter((rejection) => !rejection).length;
  const rounds = (...callsPerRound: number[]): number[] =>
    callsPerRound.map((calls) => {
      clock.time += 10;
      return countForwarded(calls);
    });
  cache.recordRejection(METHOD, caller(), error);
  assert.deepEqual([countForwarded(20), rounds(20, 20, 20)], [0, [2, 4, 8]]);
  cache.recordRejection(METHOD, caller(), error);
  assert.deepEqual([countForwarded(20), rounds(20, 20)], [0, [2, 4]], 'a call was rejected');
  assert.deepEqual(rounds(7, 50), [7, 50], 'all calls of the round were forwarded, which ends the limit');
  cache.recordRejection(METHOD, caller(), error);
  clock.time += 110;
  assert.equal(countForwarded(50), 50, '100 ms without a call end the limit');
});

test('caches per method, tenant and agent', () => {
  const { cache } = createTestCache();
  const [a, b] = [fullFor(10, 'a'), fullFor(10, 'b', false)];
  cache.recordRejection(METHOD, caller(), a);
  cache.recordRejection(METHOD, caller(), b);
  const find = (params: object, client = caller(), method = METHOD): ServiceError | undefined =>
    cache.findRejection(method, client, encodeParams(params));
  assert.deepEqual(
    [find({}), find({ agentId: 'a' }), find({ agentId: 'b' }), find({ agentId: 'c' })],
    [a, a, b, undefined],
    'a call without an agent is for the standard agent',
  );
  assert.deepEqual([find({}, caller('default', 'b')), find({}, caller('default', 'c'))], [b, undefined], 'the agent of the token applies');
  assert.deepEqual([find({ sessionKey: { agentId: 'b' } }), find({ sessionKey: { channelId: 'x' } })], [b, a]);
  assert.equal(find({ agentId: 'a', sessionKey: { agentId: 'c' } }), a);
  const restricted = { principal: { ...principal(), agents: ['b'] } } as unknown as Caller;
  assert.deepEqual(
    [find({}, restricted), find({ agentId: 'b' }, restricted)],
    [undefined, b],
    'a restricted token has another standard agent',
  );
  assert.deepEqual([find({}, caller('other')), find({}, caller(), 'session.send')], [undefined, undefined]);
});

test('forwards calls with an idempotency key, commands and invalid params', () => {
  const { cache } = createTestCache();
  cache.recordRejection(METHOD, caller(), fullFor(10));
  const simpleParams = encodeParams({});
  assert.ok(cache.findRejection(METHOD, caller(), simpleParams));
  for (const params of [
    { idempotencyKey: 'k' },
    { message: '/stop' },
    { message: '' },
    { message: 7 },
    { agentId: null },
    { agentId: 7 },
    { sessionKey: 'agent:b:default:u:c' },
    { sessionKey: null },
    { sessionKey: { agentId: 7 } },
    { message: 'x'.repeat(5_000) },
  ]) {
    assert.equal(cache.findRejection(METHOD, caller(), encodeParams(params)), undefined, JSON.stringify(params).slice(0, 60));
  }
});

test('ignores invalid fullFor details', () => {
  const { cache } = createTestCache();
  for (const details of [{}, { fullFor: 10 }, { fullFor: { ms: -1, agentId: 'a', standard: true } }, { fullFor: { ms: 10 } }]) {
    cache.recordRejection(METHOD, caller(), createServiceError('RESOURCE_EXHAUSTED', 'full', { details }));
    assert.equal(cache.findRejection(METHOD, caller(), encodeParams({})), undefined);
  }
});

test('evicts the oldest entry above 1,000 tenants', () => {
  const { cache } = createTestCache();
  for (let n = 0; n <= 1_000; n += 1) cache.recordRejection(METHOD, caller(`t${n}`), fullFor(10));
  assert.equal(cache.findRejection(METHOD, caller('t0'), encodeParams({})), undefined);
  assert.ok(cache.findRejection(METHOD, caller('t1'), encodeParams({})));
});

test('calls an overloaded service once and rejects further calls', async () => {
  let calls = 0;
  const handlers = {
    'agent.execute': () => {
      calls += 1;
      throw fullFor(60_000, 'default');
    },
  };
  await using gateway = await startTestGateway({ handlers });
  const send = async (params: object, id: number, headers = {}): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', method: METHOD, params: { message: 'hello', ...params }, id });
    const answer = await gateway.post('/rpc', body, { token: 'test-secret-that-holds-every-scope-0001', headers });
    return answer.json();
  };
  type ErrorResponse = { error: { data: { requestId: string } } };
  let [first, second]: ErrorResponse[] = [];
  let before = -1;
  // On a busy machine more than 100 ms may pass in between, and the service is called again.
  for (let tries = 0; tries < 20 && calls !== before; tries += 1) {
    first = (await send({}, 1)) as ErrorResponse;
    before = calls;
    second = (await send({}, 2)) as ErrorResponse;
  }
  assert.equal(calls, before);
  assert.ok(first && second);
  assert.notEqual(second.error.data.requestId, first.error.data.requestId);
  const same = { ...first.error, data: { ...first.error.data, requestId: second.error.data.requestId } };
  assert.deepEqual(second, { jsonrpc: '2.0', error: same, id: 2 });
  assert.ok(!JSON.stringify(first).includes('fullFor'), 'fullFor is internal');
  await send({}, 3, { 'idempotency-key': 'k' });
  await send({ idempotencyKey: 'k' }, 4);
  await send({ agentId: 'other' }, 5);
  assert.equal(calls, before + 3);
});
