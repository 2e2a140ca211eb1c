import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@switchyard/service-kit';
import { openStore } from '@switchyard/store';
import { silentLogger } from '@switchyard/telemetry';
import { principal, startUpstream, tempDir } from '@switchyard/testkit';
import { keyedTurnCollection } from '../model/keyed-turn-document.ts';
import { responseSegmentCollection } from '../model/response-segment-document.ts';
import { bodyCollection } from '../model/text-document.ts';
import { createResponse, prepareResponse, startSessions } from '../response-chain/response-chain.fixture.ts';
import { countTextBytes } from '../storage/stored-bytes.ts';
import type { LoadBudget } from '../sessions/load-budget.ts';
import { createIdempotentTurns, type IdempotentTurnsDeps } from '../stateless/idempotent-turns.ts';
import { testSessions } from '../sessions.fixture.ts';
import { getResponse } from './responses.ts';

const BYTES_PER_CHAR = 4;
const OWNER = { tenant: 'default' };

/** A load budget that grants a request when the test says so. */
function createManualBudget() {
  const { promise: requested, resolve: onRequest } = Promise.withResolvers<{ client: string; bytes: number }>();
  const { promise: granted, resolve: grant, reject } = Promise.withResolvers<void>();
  let held = 0;
  const loads: LoadBudget = {
    async take({ client }, bytes) {
      onRequest({ client, bytes });
      await granted;
      held += 1;
      return { [Symbol.dispose]: () => void (held -= 1) };
    },
  };
  return { loads, requested, grant, reject, held: () => held };
}

test('responses.get waits for the load budget before it reads a text, with the whole conversation for its input items', async () => {
  await using sessions = await startSessions();
  const { app, data, store } = sessions;
  const first = await createResponse(app.bus, { message: 'x'.repeat(20_000) });
  const second = await createResponse(app.bus, { message: 'y'.repeat(10_000), previous: first });
  const [response = assert.fail()] = (await data.kept.for(OWNER).find({ turnId: second })).items;
  for (const talk of [false, true]) {
    const budget = createManualBudget();
    let reads = 0;
    const bodies = { ...data.bodies, for: (owner: typeof OWNER) => (reads++, data.bodies.for(owner)) };
    const signal = new AbortController().signal;
    const reading = getResponse({ ...data, bodies, store, loads: budget.loads }, principal(), { turnId: second, talk, signal });
    const { client, bytes } = await budget.requested;
    const chars = countTextBytes(response) + (talk ? (response.chain?.chars ?? assert.fail()) : 0);
    assert.deepEqual([client, bytes, reads], [principal().client, BYTES_PER_CHAR * chars, 0]);
    budget.grant();
    assert.equal((await reading).talk?.history?.length, talk ? 2 : undefined);
    assert.deepEqual([reads > 0, budget.held()], [true, 0]);
  }
});

test('a response that is run again after a crash waits for the load budget of its client', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one', afterTokens: 1 });
  await using directory = await tempDir();
  const entries = { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'one' }] } };
  {
    await using app = await testSessions({
      data: directory.path,
      env: { SWITCHYARD_STORE: `sqlite:${join(directory.path, 'store')}` },
      settings: { providers: { entries } },
      agents: { default: { provider: 'lab', model: 'one' } },
    });
    await app.bus.call('turns.once', await prepareResponse(app.bus, { message: 'z'.repeat(20_000) }));
    await upstream.firstRequest;
  }
  const store = await openStore(`sqlite:${join(directory.path, 'store')}`, { service: 'sessions' });
  const data = await store.open({ kept: keyedTurnCollection, segments: responseSegmentCollection, bodies: bodyCollection });
  const budget = createManualBudget();
  const { promise: failed, resolve: onFailure } = Promise.withResolvers<unknown>();
  const deps: Partial<IdempotentTurnsDeps> = {
    ...data,
    store,
    clock: systemClock,
    log: Object.assign(silentLogger(), { warn: ({ err }: { err: unknown }) => onFailure(err) }),
    loads: budget.loads,
    owner: 'test',
  };
  const turns = createIdempotentTurns(deps as IdempotentTurnsDeps);
  const [response = assert.fail()] = (await data.kept.for(OWNER).find({})).items;
  assert.deepEqual(await budget.requested, { client: principal().client, bytes: BYTES_PER_CHAR * countTextBytes(response) });
  const cancelled = new Error('cancelled');
  budget.reject(cancelled);
  assert.equal(await failed, cancelled);
  await turns[Symbol.asyncDispose]();
  await store.close();
});
