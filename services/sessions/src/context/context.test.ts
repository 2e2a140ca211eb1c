import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { principal, startUpstream, type TestService, type Upstream } from '@switchyard/testkit';
import { putAgent, testSessions } from '../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
/** Summarizes a few exchanges at a time, except the last two. */
const engine = {
  freshTailTurns: 2,
  leafMinFanout: 4,
  condensedMinFanout: 2,
  incrementalMaxDepth: -1,
  compactionCooldownTurns: 1,
  leafChunkTokens: 1_000,
  leafTargetTokens: 96,
};
const SUMMARY = 'They spoke of harbours.';

interface House extends AsyncDisposable {
  app: TestService;
  upstream: Upstream;
}

/** Starts sessions with an upstream on a local socket. */
async function start(config: object = {}, providers: object = {}): Promise<House> {
  const stack = new AsyncDisposableStack();
  const upstream = stack.use(await startUpstream({ kind: 'text', text: SUMMARY }));
  const entries = {
    local: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm', contextWindow: 128_000 }] },
    ...providers,
  };
  const agent = { provider: 'local', model: 'm', contextEngine: engine, ...config };
  const app = stack.use(
    await testSessions({ as: admin, settings: { models: { dev: true }, providers: { entries } }, agents: { default: agent } }),
  );
  return { app, upstream, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function sendMessage({ app }: House, count: number, words = 'harbour '.repeat(20)): Promise<void> {
  for (let n = 0; n < count; n += 1) await app.bus.call('agent.execute', { message: `${n}: ${words}` });
}

/** Messages of the last model request. */
const getInput = ({ upstream }: House) => upstream.requests.at(-1)?.body.messages as { role: string; content: string }[];
const tree = async ({ app }: House) => {
  const { conversations } = await app.bus.call('context.conversations', {});
  return app.bus.call('context.tree', { conversation_id: conversations[0]?.conversation_id ?? '' });
};

test('session.compact summarizes all but the last turns and keeps all messages', async () => {
  await using house = await start();
  const { app } = house;
  await sendMessage(house, 6);
  const before = await app.bus.call('session.history', { session_key: KEY });
  const { estimatedTokens, tokensAfter = 0, ...made } = await app.bus.call('session.compact', { key: KEY });
  assert.deepEqual(made, { sessionKey: KEY, messageCount: 12, compactionTriggered: true, instructions: null, messagesAfter: 4 + 1 });
  assert.ok(tokensAfter < estimatedTokens, `${tokensAfter} of ${estimatedTokens}`);
  assert.deepEqual(await app.bus.call('session.history', { session_key: KEY }), before);
  await app.bus.call('agent.execute', { message: 'and now?' });
  const promptMessages = getInput(house);
  assert.equal(promptMessages.length, 1 + 4 + 1, 'the summary, the last two exchanges, the question');
  assert.match(promptMessages[0]?.content ?? '', new RegExp(`reference data.*\\n\\{"earlier":"${SUMMARY}","id":"sum_\\w+"\\}$`));
  assert.match(promptMessages[1]?.content ?? '', /^4: /);
  assert.equal((await app.bus.call('session.compact', { key: KEY })).compactionTriggered, true, 'one more exchange is old by now');
  assert.equal((await app.bus.call('session.compact', { key: KEY })).compactionTriggered, false, 'nothing is left to fold');
});

test('context.tree returns the summaries and turns in the prompts of the last turns only', async () => {
  await using house = await start();
  const { app } = house;
  await sendMessage(house, 6);
  await app.bus.call('session.compact', { key: KEY });
  await app.bus.call('agent.execute', { message: 'and now?' });
  const { nodes, turns: [last, before, ...others] = [] } = await app.bus.call('context.tree', { conversation_id: KEY, turns: 2 });
  const { summaryIds, turns, messages, folded, leftOut } = last?.evidence?.told ?? {};
  assert.deepEqual([last?.turn, before?.turn, others], [7, 6, []]);
  assert.deepEqual(
    summaryIds,
    nodes.map(({ summaryId }) => summaryId),
  );
  assert.deepEqual([turns, messages, folded, leftOut], [{ from: 5, to: 6 }, 4, 8, 0]);
  assert.deepEqual(before?.evidence?.told?.turns, { from: 1, to: 5 });
  assert.equal(last?.evidence?.steps.length, 1);
  assert.equal((await app.bus.call('context.tree', { conversation_id: KEY })).turns, undefined);
});

test('a long conversation is compacted after its turns, and its tree leads to all messages', async () => {
  await using house = await start({ maxContextChars: 4_000, contextEngine: { ...engine, contextThreshold: 0.3 } });
  await sendMessage(house, 24);
  for (let looks = 0; (await tree(house)).messageCount > 14 && looks < 100; looks += 1) await setTimeout(20);
  const { nodes, messageCount } = await tree(house);
  assert.ok(messageCount <= 14 && nodes.length >= 2, `${messageCount} messages, ${nodes.length} summaries`);
  const condensed = nodes.filter(({ kind }) => kind === 'condensed');
  assert.ok(condensed.length > 0);
  for (const { summaryId, depth, childIds } of condensed) {
    const children = nodes.filter(({ parentIds }) => parentIds.includes(summaryId));
    assert.deepEqual(children.map((child) => child.summaryId).toSorted(), childIds.toSorted());
    for (const child of children) assert.equal(child.depth, depth - 1);
  }
  assert.ok(nodes.every(({ contentPreview, taint }) => contentPreview === SUMMARY && !taint));
  assert.equal((await house.app.bus.call('session.history', { session_key: KEY })).messages.length, 48);
});

test('a failed summary leaves the tree unchanged and releases the lease', async () => {
  await using house = await start();
  await sendMessage(house, 4);
  house.upstream.respond({ kind: 'status', status: 400 });
  await assert.rejects(house.app.bus.call('session.compact', { key: KEY }), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await tree(house).then(({ nodes, messageCount }) => [nodes, messageCount]), [[], 8]);
  house.upstream.respond({ kind: 'text', text: SUMMARY });
  assert.equal((await house.app.bus.call('session.compact', { key: KEY })).compactionTriggered, true);
});

test('turns do not wait for a summary, and no second one starts meanwhile', async () => {
  await using slow = await startUpstream({ kind: 'stall', text: SUMMARY, afterTokens: 1 });
  const long = { maxContextChars: 4_000, contextEngine: { ...engine, contextThreshold: 0.1, compactionModel: 'slow/m' } };
  await using house = await start(long, { slow: { type: 'openai-compatible', baseUrl: slow.url, models: [{ id: 'm' }] } });
  await sendMessage(house, 6);
  await slow.firstRequest;
  await sendMessage(house, 3);
  await assert.rejects(
    house.app.bus.call('session.compact', { key: KEY }),
    (error: { details?: { reason?: unknown } }) => error.details?.reason === 'COMPACTING',
  );
  assert.equal(slow.requests.length, 1);
  assert.equal((await tree(house)).messageCount, 18);
});

test('the prompt fits the window of a small model', async () => {
  const stack = new AsyncDisposableStack();
  await using _end = stack;
  const upstream = stack.use(await startUpstream({ kind: 'text', text: SUMMARY }));
  const entries = { local: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm', contextWindow: 1_000 }] } };
  const app = stack.use(
    await testSessions({
      as: admin,
      settings: { providers: { entries } },
      agents: { default: { provider: 'local', model: 'm', contextEngine: engine } },
    }),
  );
  for (let n = 0; n < 12; n += 1) await app.bus.call('agent.execute', { message: `${n}: ${'harbour '.repeat(30)}` });
  for (const { body } of upstream.requests) {
    const chars = (body.messages as { content: string }[]).reduce((sum, { content }) => sum + content.length, 0);
    assert.ok(chars <= 1_000 * 4 * 0.7, `${chars} characters`);
  }
});

test('requests a shorter summary if the first is too long, and then truncates it', async () => {
  await using house = await start();
  await sendMessage(house, 4);
  house.upstream.respond({ kind: 'text', text: 'word '.repeat(2_000) });
  const requestCount = house.upstream.requests.length;
  await house.app.bus.call('session.compact', { key: KEY });
  assert.equal(house.upstream.requests.length, requestCount + 2);
  const [node] = (await tree(house)).nodes;
  assert.ok((node?.tokenCount ?? Infinity) <= engine.leafTargetTokens);
});

test('truncates messages without a model call above the summary budget of the tenant', async () => {
  await using house = await start({ contextEngine: { ...engine, summarizerSpend: { maxTokensPerTenantPerHour: 1 } } });
  await sendMessage(house, 4);
  await house.app.bus.call('session.compact', { key: KEY });
  await sendMessage(house, 1);
  const asked = house.upstream.requests.length;
  assert.equal((await house.app.bus.call('session.compact', { key: KEY })).compactionTriggered, true);
  assert.equal(house.upstream.requests.length, asked);
  const { nodes } = await tree(house);
  assert.ok(nodes.some(({ contentPreview }) => contentPreview.startsWith('user: ')));
});

test('marks a summary of tool output as untrusted, and every summary made of it', async () => {
  await using house = await start();
  await putAgent(house.app.host.bus, 'default', { config: { model: 'dev/tools', contextEngine: engine } });
  await house.app.host.bus.flush();
  await sendMessage(house, 1);
  await house.app.bus.call('agent.execute', { message: 'session_status {}' });
  await sendMessage(house, 4);
  await putAgent(house.app.host.bus, 'default', { config: { provider: 'local', model: 'm', contextEngine: engine } });
  await house.app.host.bus.flush();
  await house.app.bus.call('session.compact', { key: KEY });
  assert.ok((await tree(house)).nodes.every(({ taint }) => taint));
  await house.app.bus.call('agent.execute', { message: 'so?' });
  assert.match(getInput(house)[0]?.content ?? '', /"untrusted":true/);
});

test('/compact follows its instructions and includes the summaries in verbose mode', async () => {
  await using house = await start();
  await sendMessage(house, 4);
  const { response } = await house.app.bus.call('agent.execute', { message: '/compact verbose the price' });
  assert.match(response, new RegExp(`^Compacted from about \\d+ to \\d+ tokens\\. No message was deleted\\.\\n\\n${SUMMARY}$`));
  const asked = house.upstream.requests.at(-1)?.body.messages as { content: string }[];
  assert.match(asked.at(-1)?.content ?? '', /Most important: the price/);
  const again = await house.app.bus.call('agent.execute', { message: '/compact' });
  assert.match(again.response, /^Nothing to compact/);
  assert.match((await house.app.bus.call('agent.execute', { message: '/context' })).response, /1 summaries replace 4 earlier messages/);
});

test('a reset deletes the summaries of the conversation and includes them in its counts', async () => {
  await using house = await start();
  await sendMessage(house, 5);
  await house.app.bus.call('session.compact', { key: KEY });
  const { conversationId } = await tree(house);
  const { lcdRowsDeleted } = await house.app.bus.call('session.reset_conversation', { session_key: KEY });
  assert.equal(lcdRowsDeleted, 5 + 1);
  await assert.rejects(house.app.bus.call('context.tree', { conversation_id: conversationId }), { code: 'NOT_FOUND' });
  await house.app.bus.call('agent.execute', { message: 'hello' });
  assert.equal(getInput(house).length, 1);
  assert.deepEqual((await tree(house)).nodes, []);
});

test('context.conversations returns the conversations of the agent in pages, newest first', async () => {
  await using app = await testSessions({ as: admin, agents: { other: {} } });
  await putAgent(app.host.bus, 'default', { tenant: 'acme' });
  for (const userId of ['ann', 'bob', 'eve']) await app.bus.call('agent.execute', { message: 'hello', sessionKey: { userId } });
  await app.bus.call('agent.execute', { message: 'hello', agentId: 'other' });
  const zoe = principal({ tenant: 'acme', client: 'zoe', scopes: ['*'] });
  await app.bus.as(zoe).call('agent.execute', { message: 'hello' });
  const page = await app.bus.call('context.conversations', { limit: 2, offset: 1 });
  assert.deepEqual(
    [page.total, page.conversations.map(({ session_key }) => session_key)],
    [3, ['default:bob:gateway', 'default:ann:gateway']],
  );
  const [one] = page.conversations;
  assert.deepEqual([one?.tenant_id, one?.agent_id, one?.title, one?.message_count], ['default', 'default', null, 2]);
  const theirs = await app.bus.as(zoe).call('context.conversations', {});
  assert.deepEqual(
    theirs.conversations.map(({ session_key }) => session_key),
    ['acme:zoe:gateway'],
  );
  const bound = app.bus.as({ ...admin, agent: 'other' });
  assert.equal((await bound.call('context.conversations', {})).total, 1);
  const held = app.bus.as({ ...admin, sessions: 'own' as const });
  assert.equal((await held.call('context.conversations', {})).total, 3, 'all made by this client');
  const stranger = app.bus.as(principal({ client: 'stranger', scopes: ['*'], sessions: 'own' }));
  assert.equal((await stranger.call('context.conversations', {})).total, 0);
  const conversation_id = one?.conversation_id ?? '';
  const byId = await app.bus.call('context.tree', { conversation_id });
  assert.deepEqual(await app.bus.call('context.tree', { conversation_id: 'default:bob:gateway' }), byId, 'by the key of its session');
  for (const bus of [app.bus.as(zoe), bound, stranger]) {
    for (const named of [conversation_id, 'default:bob:gateway']) {
      await assert.rejects(bus.call('context.tree', { conversation_id: named }), { code: 'NOT_FOUND' });
    }
  }
});
