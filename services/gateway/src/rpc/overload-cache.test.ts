import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServiceError, type ServiceError } from '@switchyard/contracts';
import { principal } from '@switchyard/testkit';
import { startTestGateway } from '../gateway.fixture.ts';
import type { Caller } from '../request/caller.ts';
import { createOverloadCache } from './overload-cache.ts';

const METHOD = 'agent.execute';
const caller = (tenant = 'default', agent?: string): Caller => ({ principal: principal({ tenant, ...(agent && { agent }) }) }) as Caller;
const said = (params: object): Uint8Array => Buffer.from(JSON.stringify({ message: 'hello', ...params }));
const fullFor = (ms: number, agentId = 'a', standard = true, tries?: { calls: number; everyMs: number }): ServiceError =>
  createServiceError('RESOURCE_EXHAUSTED', `full: ${agentId}`, {
    details: { retryAfterMs: 1_000, fullFor: { ms, agentId, standard, tries } },
  });

function testFull() {
  const clock = { at: 0, now: () => clock.at };
  return { clock, full: createOverloadCache(clock) };
}

test('caches a rejection for the time of the service, at most 100 ms', () => {
  const { clock, full } = testFull();
  const error = fullFor(10);
  assert.equal(full.findRejection(METHOD, caller(), said({})), undefined);
  full.recordRejection(METHOD, caller(), error);
  assert.equal(full.findRejection(METHOD, caller(), said({})), error);
  clock.at = 9.9;
  assert.equal(full.findRejection(METHOD, caller(), said({})), error);
  clock.at = 10;
  assert.equal(full.findRejection(METHOD, caller(), said({})), undefined);
  full.recordRejection(METHOD, caller(), fullFor(60_000));
  clock.at += 100;
  assert.equal(full.findRejection(METHOD, caller(), said({})), undefined);
});

test('lets through a doubling number of calls per round until one is rejected', () => {
  const { clock, full } = testFull();
  const error = fullFor(10, 'a', true, { calls: 2, everyMs: 10 });
  const sentOn = (of: number): number =>
    Array.from({ length: of }, () => full.findRejection(METHOD, caller(), said({}))).filter((it) => !it).length;
  const rounds = (...of: number[]): number[] =>
    of.map((one) => {
      clock.at += 10;
      return sentOn(one);
    });
  full.recordRejection(METHOD, caller(), error);
  assert.deepEqual([sentOn(20), rounds(20, 20, 20)], [0, [2, 4, 8]]);
  full.recordRejection(METHOD, caller(), error);
  assert.deepEqual([sentOn(20), rounds(20, 20)], [0, [2, 4]], 'one was refused');
  assert.deepEqual(rounds(7, 50), [7, 50], 'all that came were sent on: nobody is held back');
  full.recordRejection(METHOD, caller(), error);
  clock.at += 110;
  assert.equal(sentOn(50), 50, 'nobody came for a tenth of a second: that is long ago');
});

test('caches per method, tenant and agent', () => {
  const { full } = testFull();
  const [a, b] = [fullFor(10, 'a'), fullFor(10, 'b', false)];
  full.recordRejection(METHOD, caller(), a);
  full.recordRejection(METHOD, caller(), b);
  const asked = (params: object, who = caller(), method = METHOD): ServiceError | undefined =>
    full.findRejection(method, who, said(params));
  assert.deepEqual(
    [asked({}), asked({ agentId: 'a' }), asked({ agentId: 'b' }), asked({ agentId: 'c' })],
    [a, a, b, undefined],
    'who names none means the standard agent',
  );
  assert.deepEqual([asked({}, caller('default', 'b')), asked({}, caller('default', 'c'))], [b, undefined], 'an agent of a token is named');
  assert.deepEqual([asked({ sessionKey: { agentId: 'b' } }), asked({ sessionKey: { channelId: 'x' } })], [b, a]);
  assert.equal(asked({ agentId: 'a', sessionKey: { agentId: 'c' } }), a);
  const held = { principal: { ...principal(), agents: ['b'] } } as unknown as Caller;
  assert.deepEqual([asked({}, held), asked({ agentId: 'b' }, held)], [undefined, b], 'a token held to agents has a standard of its own');
  assert.deepEqual([asked({}, caller('other')), asked({}, caller(), 'session.send')], [undefined, undefined]);
});

test('forwards calls with an idempotency key, commands and invalid params', () => {
  const { full } = testFull();
  full.recordRejection(METHOD, caller(), fullFor(10));
  const plain = said({});
  assert.ok(full.findRejection(METHOD, caller(), plain));
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
    assert.equal(full.findRejection(METHOD, caller(), said(params)), undefined, JSON.stringify(params).slice(0, 60));
  }
});

test('ignores invalid fullFor details', () => {
  const { full } = testFull();
  for (const details of [{}, { fullFor: 10 }, { fullFor: { ms: -1, agentId: 'a', standard: true } }, { fullFor: { ms: 10 } }]) {
    full.recordRejection(METHOD, caller(), createServiceError('RESOURCE_EXHAUSTED', 'full', { details }));
    assert.equal(full.findRejection(METHOD, caller(), said({})), undefined);
  }
});

test('evicts the oldest entry above 1,000 tenants', () => {
  const { full } = testFull();
  for (let n = 0; n <= 1_000; n += 1) full.recordRejection(METHOD, caller(`t${n}`), fullFor(10));
  assert.equal(full.findRejection(METHOD, caller('t0'), said({})), undefined);
  assert.ok(full.findRejection(METHOD, caller('t1'), said({})));
});

test('a gateway asks an overloaded service once and rejects further calls', async () => {
  let asked = 0;
  const handlers = {
    'agent.execute': () => {
      asked += 1;
      throw fullFor(60_000, 'default');
    },
  };
  await using gateway = await startTestGateway({ handlers });
  const ask = async (params: object, id: number, headers = {}): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', method: METHOD, params: { message: 'hello', ...params }, id });
    const answer = await gateway.post('/rpc', body, { token: 'test-secret-that-holds-every-scope-0001', headers });
    return answer.json();
  };
  type Told = { error: { data: { requestId: string } } };
  let [told, again]: Told[] = [];
  let before = -1;
  // On a busy machine more than 100 ms may pass in between, and the service is asked again.
  for (let tries = 0; tries < 20 && asked !== before; tries += 1) {
    told = (await ask({}, 1)) as Told;
    before = asked;
    again = (await ask({}, 2)) as Told;
  }
  assert.equal(asked, before);
  assert.ok(told && again);
  assert.notEqual(again.error.data.requestId, told.error.data.requestId);
  const same = { ...told.error, data: { ...told.error.data, requestId: again.error.data.requestId } };
  assert.deepEqual(again, { jsonrpc: '2.0', error: same, id: 2 });
  assert.ok(!JSON.stringify(told).includes('fullFor'), 'that is between services');
  await ask({}, 3, { 'idempotency-key': 'k' });
  await ask({ idempotencyKey: 'k' }, 4);
  await ask({ agentId: 'other' }, 5);
  assert.equal(asked, before + 3);
});
