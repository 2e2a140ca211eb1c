import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, startUpstream } from '@switchyard/testkit';
import { getResponse } from '../responses/responses.ts';
import type { LoadBudget } from '../sessions/load-budget.ts';
import { defineChainTests } from './response-chain-cases.fixture.ts';
import { createResponse, prepareResponse, startSessions } from './response-chain.fixture.ts';

const ANN = { tenant: 'default' };

defineChainTests('sqlite', (options) => startSessions(undefined, options));

test('a response that is run again has the conversation of its chain', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'first answer' });
  const entries = { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'one' }] } };
  const settings = { providers: { entries } };
  await using sessions = await startSessions(undefined, {
    settings,
    agents: { default: { provider: 'lab', model: 'one' } },
    timing: { pollMs: 20 },
  });
  const { bus } = sessions.app;
  const first = await createResponse(bus, { message: 'one', system: 'be kind' });
  upstream.respond({ kind: 'stall', text: 'x', afterTokens: 1 });
  const request = await prepareResponse(bus, { message: 'two', previous: first, instructions: 'be brief' });
  await bus.call('turns.once', request);
  const abandoned = { set: { leaseUntil: 0, fence: 100 } };
  while (upstream.requests.length < 2) await bus.call('session.list', {});
  upstream.respond({ kind: 'text', text: 'second answer' });
  await sessions.data.kept.for(ANN).update({ turnId: request.turnId }, abandoned);
  while ((await bus.call('turns.resume', { turnId: request.turnId })).state === 'running') await bus.call('session.list', {});
  assert.deepEqual(upstream.requests.at(-1)?.body['messages'], upstream.requests[1]?.body['messages']);
  assert.equal(upstream.requests.length, 3);
});

test('responses.get reserves the bytes of a response in the load budget, with those of its chain', async () => {
  await using sessions = await startSessions();
  const { bus } = sessions.app;
  const first = await createResponse(bus, { message: 'x'.repeat(200_000) });
  const second = await createResponse(bus, { message: 'hi', previous: first });
  const taken: number[] = [];
  let held = 0;
  const loads: LoadBudget = {
    async take(_client, bytes) {
      taken.push(bytes);
      held += 1;
      return { [Symbol.dispose]: () => void (held -= 1) };
    },
  };
  const { signal } = new AbortController();
  for (const [turnId, talk] of [
    [first, false],
    [second, false],
    [second, true],
  ] as const)
    await getResponse({ ...sessions.data, store: sessions.store, loads }, principal(), { turnId, talk, signal });
  const [own = 0, short = 0, whole = 0] = taken;
  assert.ok(own > 800_000 && short < 20_000 && whole > 800_000, taken.join());
  assert.equal(held, 0);
});
