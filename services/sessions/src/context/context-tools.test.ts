import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import type { Result } from '@switchyard/contracts';
import { principal, startUpstream, type TestService, type Upstream } from '@switchyard/testkit';
import { sessionCollection } from '../model/session-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { testSessions } from '../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
const engine = { freshTailTurns: 1, leafMinFanout: 2, condensedMinFanout: 2, leafChunkTokens: 1_000, leafTargetTokens: 96 };
const SUMMARY = 'They spoke of harbours.';
const FACT = 'The vault opens with 7-green-otters, on Tuesdays.';

interface House extends AsyncDisposable {
  app: TestService;
  upstream: Upstream;
  /** The bus as seen by tools of a turn in the given session. */
  inside(session?: string, agent?: string): Bus;
}

async function start(contextEngine: object = {}, config: object = {}): Promise<House> {
  const stack = new AsyncDisposableStack();
  const upstream = stack.use(await startUpstream({ kind: 'text', text: SUMMARY }));
  const entries = { local: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm', contextWindow: 128_000 }] } };
  const agent = { provider: 'local', model: 'm', contextEngine: { ...engine, ...contextEngine }, ...config };
  const settings = { providers: { entries } };
  const app = stack.use(await testSessions({ as: admin, settings, agents: { default: agent } }));
  const own = await app.host.connect('sessions');
  const inside = (session = KEY, agentId = 'default'): Bus => own.as(principal({ scopes: ['*'], session, agent: agentId }));
  return { app, upstream, inside, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Creates a conversation with summaries of all turns but the last. */
async function folded(house: House, messages = [FACT, 'harbour one', 'harbour two', 'a crane stands still']): Promise<void> {
  for (const message of messages) await house.app.bus.call('agent.execute', { message });
  await house.app.bus.call('session.compact', { key: KEY });
}

async function summaries({ app }: House) {
  return (await app.bus.call('context.tree', { conversation_id: KEY })).nodes;
}

const offered = ({ upstream }: House): string[] => {
  const tools = upstream.requests.at(-1)?.body.tools as { function: { name: string } }[] | undefined;
  return (tools ?? []).map((tool) => tool.function.name).filter((name) => name.startsWith('ctx_'));
};

test('offers the context tools once the prompt contains summaries, unless the agent denies them', async () => {
  await using house = await start();
  await house.app.bus.call('agent.execute', { message: 'hello' });
  assert.deepEqual(offered(house), []);
  await folded(house);
  await house.app.bus.call('agent.execute', { message: 'and now?' });
  assert.deepEqual(offered(house).toSorted(), ['ctx_expand', 'ctx_inspect', 'ctx_recall', 'ctx_search']);
  await using denied = await start({}, { skills: { toolPolicy: { deny: ['group:context', 'ctx_expand'] } } });
  await folded(denied);
  await denied.app.bus.call('agent.execute', { message: 'and now?' });
  assert.deepEqual(offered(denied), []);
});

test('ctx_search returns the original text behind a summary within the turn', async () => {
  await using house = await start();
  await folded(house);
  house.upstream.respond(
    { kind: 'tools', calls: [{ name: 'ctx_search', arguments: { query: 'how does the vault open' } }] },
    { kind: 'text', text: 'It opens.' },
  );
  const { response } = await house.app.bus.call('agent.execute', { message: 'how does the vault open?' });
  assert.equal(response, 'It opens.');
  const promptMessages = house.upstream.requests.at(-1)?.body.messages as { role: string; content: string }[];
  assert.match(promptMessages[0]?.content ?? '', /"id":"sum_/);
  assert.ok(!promptMessages.slice(0, -1).some(({ content }) => content?.includes('otters')), 'it was not told');
  assert.match(promptMessages.at(-1)?.content ?? '', /7-green-otters/);
});

test('ctx.search finds messages and summaries by words and patterns, ranks rare words first, and covers one conversation', async () => {
  await using house = await start();
  await folded(house);
  const bus = house.inside();
  const { results, whole } = await bus.call('ctx.search', { query: 'harbours and the vault' });
  assert.equal(whole, true);
  assert.match(results[0]?.snippet ?? '', /7-green-otters/);
  assert.deepEqual([results[0]?.kind, results[0]?.role, results[0]?.turn], ['message', 'user', 1]);
  assert.ok(results.some(({ kind, id }) => kind === 'summary' && id.startsWith('sum_')));
  assert.ok(results.every(({ score }, at) => score <= (results[at - 1]?.score ?? 1)));
  const only = await bus.call('ctx.search', { query: String.raw`\d-\w+-otter`, mode: 'regex', scope: 'messages' });
  assert.deepEqual(
    only.results.map(({ turn }) => turn),
    [1],
  );
  assert.deepEqual((await bus.call('ctx.search', { query: 'otters', scope: 'summaries' })).results, []);
  assert.equal((await bus.call('ctx.search', { query: 'harbour', limit: 1 })).results.length, 1);
  await house.app.bus.call('agent.execute', { message: 'elsewhere', sessionKey: { channelId: 'other' } });
  assert.deepEqual((await house.inside('default:test:other').call('ctx.search', { query: 'otters' })).results, []);
});

test('ctx.search is not slowed down by a backtracking pattern and rejects an invalid one with the reason', async () => {
  await using house = await start();
  await folded(house, ['a'.repeat(60_000), 'two', 'three']);
  const bus = house.inside();
  const began = performance.now();
  assert.deepEqual((await bus.call('ctx.search', { query: '(a+)+$b', mode: 'regex' })).results, []);
  await assert.rejects(bus.call('ctx.search', { query: '(((a{100}){100}){100}){100}', mode: 'regex' }), { code: 'INVALID_ARGUMENT' });
  assert.ok(performance.now() - began < 5_000);
  await assert.rejects(bus.call('ctx.search', { query: '(', mode: 'regex' }), { code: 'INVALID_ARGUMENT', message: /regular expression/ });
});

test('ctx.inspect returns a message or summary completely, in pages if it is long', async () => {
  await using house = await start({ maxExpandTokens: 500 });
  const long = 'tide '.repeat(900);
  await folded(house, [long, 'two', 'three']);
  const bus = house.inside();
  const { results } = await bus.call('ctx.search', { query: 'tide', scope: 'messages' });
  const { id = '' } = results[0] ?? {};
  let text = '';
  let shown: Result<'ctx.inspect'>;
  do {
    shown = await bus.call('ctx.inspect', { id, offset: text.length });
    assert.ok(shown.content.length <= 2_000 && shown.chars === long.length);
    text += shown.content;
  } while (shown.next !== undefined);
  assert.equal(text, long);
  const [summary] = await summaries(house);
  const inside = await bus.call('ctx.inspect', { id: summary?.summaryId ?? '' });
  assert.deepEqual([inside.kind, inside.content, inside.depth], ['summary', SUMMARY, summary?.depth]);
  const unknown = { code: 'NOT_FOUND' };
  await assert.rejects(bus.call('ctx.inspect', { id: 'sum_none' }), unknown);
  await house.app.bus.call('agent.execute', { message: 'elsewhere', sessionKey: { channelId: 'other' } });
  for (const named of [id, summary?.summaryId ?? ''])
    await assert.rejects(house.inside('default:test:other').call('ctx.inspect', { id: named }), unknown);
  await house.app.bus.call('session.reset', { session_key: KEY });
  for (const named of [id, summary?.summaryId ?? '']) await assert.rejects(bus.call('ctx.inspect', { id: named }), unknown);
  const nowhere = (await house.app.host.connect('sessions')).as(admin);
  await assert.rejects(nowhere.call('ctx.inspect', { id }), unknown);
});

test('ctx.expand returns the original messages behind a summary once each, in pages', async () => {
  await using house = await start({ maxExpandTokens: 500 });
  const texts = Array.from({ length: 9 }, (_, n) => `${n}: ${'harbour '.repeat(n * 50)}`);
  await folded(house, texts);
  const bus = house.inside();
  const [top] = await summaries(house);
  assert.ok((top?.depth ?? 0) > 0, 'it stands for summaries, which stand for turns');
  const messages: Result<'ctx.expand'>['messages'] = [];
  for (let from: string | undefined, more = true; more; more = from !== undefined) {
    const request = { summary_id: top?.summaryId ?? '', ...(from === undefined ? {} : { from }) };
    const page: Result<'ctx.expand'> = await bus.call('ctx.expand', request);
    assert.ok(page.messages.length > 0 && page.messages.reduce((sum, { content }) => sum + content.length, 0) <= 2_100);
    messages.push(...page.messages);
    from = page.next;
  }
  const { turns } = await bus.call('ctx.inspect', { id: top?.summaryId ?? '' });
  assert.deepEqual(
    messages.filter(({ role }) => role === 'user').map(({ content }) => content.slice(0, 2)),
    texts.slice(0, turns?.to).map((text) => text.slice(0, 2)),
  );
  assert.equal(new Set(messages.map(({ id }) => id)).size, 2 * (turns?.to ?? 0));
  assert.equal(messages.length, 2 * (turns?.to ?? 0));
});

test('ctx.recall answers from earlier messages, is limited per day, and adds its cost to the conversation', async () => {
  await using house = await start({ maxRecallsPerDay: 2 });
  await folded(house);
  const bus = house.inside();
  house.upstream.respond({ kind: 'text', text: 'With 7-green-otters.' });
  const recalled = await bus.call('ctx.recall', { prompt: 'What opens the vault?', max_tokens: 100 });
  assert.deepEqual([recalled.answer, recalled.whole, recalled.recallsLeft], ['With 7-green-otters.', true, 1]);
  assert.ok(recalled.sources.length >= 2 && recalled.tokensUsed.total > 0);
  const asked = house.upstream.requests.at(-1)?.body;
  assert.match(JSON.stringify(asked?.messages), /The question: What opens the vault/);
  assert.match(JSON.stringify(asked?.messages), /7-green-otters, on Tuesdays/);
  assert.doesNotMatch(JSON.stringify(asked?.messages), /crane/);
  assert.equal(asked?.max_tokens ?? asked?.['max_completion_tokens'], 100);
  assert.deepEqual(asked?.tools ?? [], []);
  const [leaf] = (await summaries(house)).filter(({ kind }) => kind === 'leaf');
  await bus.call('ctx.recall', { prompt: 'And then?', summary_ids: [leaf?.summaryId ?? ''] });
  assert.match(JSON.stringify(house.upstream.requests.at(-1)?.body.messages), /7-green-otters/);
  const requests = house.upstream.requests.length;
  await assert.rejects(bus.call('ctx.recall', { prompt: 'the vault?' }), { code: 'RESOURCE_EXHAUSTED' });
  assert.equal((await bus.call('ctx.recall', { prompt: 'zebra' })).answer, 'The earlier conversation contains nothing about it.');
  assert.equal(house.upstream.requests.length, requests, 'no model was asked');
  await aDayLater(house);
  assert.equal((await bus.call('ctx.recall', { prompt: 'the vault?' })).recallsLeft, 1);
});

/** Moves the recall count of the session to the previous day. */
async function aDayLater({ app }: House): Promise<void> {
  const store = await app.host.store('sessions');
  const { sessions } = await store.open({ sessions: sessionCollection });
  await sessions.for(admin).update({ key: KEY }, { set: { recallDay: Math.floor(Date.now() / DAY_MS) - 1 } });
  await store.close();
}

test('ctx.recall returns whole false if the messages exceed its limit', async () => {
  await using house = await start({ maxExpandTokens: 500 });
  await folded(house, ['otters '.repeat(1_000), 'two', 'three']);
  const { whole } = await house.inside().call('ctx.recall', { prompt: 'otters?' });
  assert.equal(whole, false);
  const { messages } = house.upstream.requests.at(-1)?.body ?? {};
  const message = (messages as { content: string }[] | undefined)?.at(-1);
  assert.ok((message?.content.length ?? 0) < 2_400 && (message?.content.length ?? 0) > 1_000, `${message?.content.length}`);
});

test('ctx.recall makes no model call after the budget is used up', async () => {
  await using house = await start();
  await folded(house);
  const own = await house.app.host.connect('sessions');
  const bus = own.as(principal({ scopes: ['*'], session: KEY, agent: 'default', budgets: { perHour: 1 } }));
  await bus.call('ctx.recall', { prompt: 'the vault?' });
  const requestCount = house.upstream.requests.length;
  await assert.rejects(bus.call('ctx.recall', { prompt: 'the vault?' }), /has used up the 1 tokens of its budgets\.perHour/);
  assert.equal(house.upstream.requests.length, requestCount);
});
