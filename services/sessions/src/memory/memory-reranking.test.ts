import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memory, type Input, type Result } from '@switchyard/contracts';
import { principal, startUpstream, type TestService, type Upstream } from '@switchyard/testkit';
import { sessionCollection } from '../model/session-document.ts';
import { testSessions } from '../sessions.fixture.ts';

const NOTES = ['The harbour is old.', 'The code is blue.', 'Cranes stand still.', 'Boats are red.'];
const KEY = 'default:test:gateway';

interface House extends AsyncDisposable {
  app: TestService;
  upstream: Upstream;
  /** Upstream for reranking. */
  judge: Upstream;
  requests: Input<'memory.recall'>[];
}

/** Starts sessions that recall at most two memories per turn. */
async function start(rerank: object, more: object = {}): Promise<House> {
  const stack = new AsyncDisposableStack();
  const upstream = stack.use(await startUpstream());
  const judge = stack.use(await startUpstream({ kind: 'text', text: '[2, 4]', usage: { prompt: 5_000, completion: 7 } }));
  const getEntry = ({ url }: Upstream) => ({ type: 'openai-compatible' as const, baseUrl: url, maxRetries: 0, models: [{ id: 'm' }] });
  const settings = { providers: { entries: { local: getEntry(upstream), judge: getEntry(judge) } } };
  const agent = { provider: 'local', model: 'm', rag: { maxResults: 2, rerank }, contextEngine: { compactionModel: 'judge/m' }, ...more };
  const app = stack.use(await testSessions({ settings, agents: { default: agent } }));
  const request: Input<'memory.recall'>[] = [];
  const matches = NOTES.map((content, at) => ({
    id: `m${at}`,
    content,
    memoryType: 'semantic' as const,
    trustLevel: 'learned' as const,
    createdAt: 0,
    score: 1,
  }));
  const recall = (expected: Input<'memory.recall'>): Result<'memory.recall'> => {
    request.push(expected);
    return { entries: matches.slice(0, expected.maxResults), empty: false, textCandidates: 4, vectorCandidates: 0 };
  };
  await (await app.host.connect('memory')).serve(memory, { 'memory.recall': recall }, { version: '0.0.0' });
  return { app, upstream, judge, requests: request, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function reminded({ app, upstream }: House): Promise<number[]> {
  await app.bus.as(principal()).call('agent.execute', { message: 'which colour?' });
  const messages: unknown = upstream.requests.at(-1)?.body.messages;
  const content = JSON.stringify(messages);
  const places = NOTES.map((note, at) => [content.indexOf(note), at + 1] as const).filter(([place]) => place >= 0);
  return places.toSorted(([one], [other]) => one - other).map(([, number]) => number);
}

test('with rag.rerank a model orders more candidates', async () => {
  await using off = await start({});
  assert.deepEqual(await reminded(off), [1, 2]);
  assert.deepEqual([off.judge.requests.length, off.requests[0]?.maxResults, off.requests[0]?.reranked], [0, 2, undefined]);
  await using house = await start({ enabled: true });
  const sent = house.app.nextEvent('memory:reranked');
  assert.deepEqual(await reminded(house), [2, 4]);
  assert.deepEqual([house.judge.requests.length, house.requests[0]?.maxResults, house.requests[0]?.reranked], [1, 8, true]);
  const { timestamp: _, durationMs: _ms, ...event } = await sent;
  const outcome = { rerankerAvailable: true, timedOut: false, fellBack: false };
  assert.deepEqual(event, { agentId: 'default', candidateCount: 4, hitCount: 4, ...outcome });
  const store = await house.app.host.store('sessions');
  const { sessions } = await store.open({ sessions: sessionCollection });
  const { inputTokens = 0, outputTokens = 0 } = (await sessions.for(principal()).get(KEY)) ?? {};
  await store.close();
  assert.ok(inputTokens >= 5_000 && outputTokens >= 7, `${inputTokens} and ${outputTokens}: what it cost is the conversation's`);
});

test('a late, failed or useless reply keeps the original order and does not fail the turn', async () => {
  for (const [behaviour, outcome] of [
    [{ kind: 'stall' as const }, { timedOut: true, fellBack: true }],
    [
      { kind: 'status' as const, status: 400 },
      { timedOut: false, fellBack: true },
    ],
    [
      { kind: 'text' as const, text: 'All of them help.' },
      { timedOut: false, fellBack: true },
    ],
  ] as const) {
    // Only the late reply needs a short time. On a busy machine the others would be late as well.
    await using house = await start({ enabled: true, timeoutMs: outcome.timedOut ? 100 : 10_000 });
    house.judge.respond(behaviour);
    const sent = house.app.nextEvent('memory:reranked');
    assert.deepEqual(await reminded(house), [1, 2]);
    const { timedOut, fellBack } = await sent;
    assert.deepEqual({ timedOut, fellBack }, outcome);
  }
});

test('skips a model that was late three times in a row for a while', async () => {
  await using house = await start({ enabled: true, timeoutMs: 50 });
  house.judge.respond({ kind: 'stall' });
  const asked: boolean[] = [];
  for (const _ of [1, 2, 3, 4]) {
    const sent = house.app.nextEvent('memory:reranked');
    await reminded(house);
    asked.push((await sent).rerankerAvailable);
  }
  assert.deepEqual(asked, [true, true, true, false]);
});
