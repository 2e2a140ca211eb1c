import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { PAGE_TOOL, startWithPage } from './taint.fixture.ts';

type Started = Awaited<ReturnType<typeof startWithPage>>;
interface Call {
  name: string;
  input: object;
}

const play = (answer: string, ...calls: Call[]): string => JSON.stringify([...calls.map((tool) => ({ tool })), { text: answer }]);
const destroy = (name: string): Call => ({ name: 'dev_destroy', input: { name, _confirmed: true } });
const READ_PAGE: Call = { name: PAGE_TOOL, input: {} };
const LOOK: Call = { name: 'dev_look', input: { name: 'look' } };
const ANSWER = 'The zeppelin has landed.';
const CONTEXT_ENGINE = { compactionModel: 'dev/echo', freshTailTurns: 1, leafMinFanout: 2, compactionPrefixAnchorTurns: 0 };

/** Returns the key of the session of a channel. */
const getKey = (channelId: string): string => `agent:scripted:default:test:${channelId}`;

/** Returns whether a turn that makes the call first can confirm a destructive call itself. */
async function mayDestroyAfter({ app, count }: Started, name: string, call: Call, channelId = `reader-${name}`): Promise<boolean> {
  const sessionKey = { userId: 'test', channelId };
  await app.bus.call('agent.execute', { agentId: 'scripted', message: play('done', call, destroy(name)), sessionKey });
  return (await count(name)) === 1;
}

/** Orders turns in one session. `fresh` reads no earlier turn, `rolling` reads the last one only and has the tools of the history. */
async function orderTurns({ app }: Started) {
  const scheduler = (await app.host.connect('scheduler')).as({ tenant: 'default', client: 'test', scopes: ['rpc', 'admin'] });
  return async (channelId: string, mode: 'fresh' | 'rolling', message: string): Promise<string> => {
    const { turnId } = await scheduler.call('turns.order', {
      message,
      agentId: 'scripted',
      idempotencyKey: randomUUID(),
      kind: 'cron',
      origin: { service: 'scheduler', ref: 'job' },
      session: { userId: 'test', channelId },
      history: { mode, turns: 1 },
    });
    const { turns } = await scheduler.call('turns.ends', { turnIds: [turnId], waitMs: 20_000 });
    assert.equal(turns[0]?.state, 'done', JSON.stringify(turns[0]));
    return turnId;
  };
}

test('a turn that reads the answer of a tainted turn in another session cannot confirm a destructive call itself', async () => {
  await using started = await startWithPage({ page: 'a recipe' });
  for (const [channelId, call] of [
    ['tainted', READ_PAGE],
    ['clean', LOOK],
  ] as const) {
    const message = play(`${ANSWER} It was ${channelId}.`, call);
    await started.app.bus.call('agent.execute', { agentId: 'scripted', message, sessionKey: { userId: 'test', channelId } });
  }
  const history = (channelId: string): Call => ({ name: 'session_history', input: { session_key: getKey(channelId) } });
  const search = (query: string): Call => ({ name: 'session_search', input: { query } });
  assert.equal(await mayDestroyAfter(started, 'clean-history', history('clean')), true);
  assert.equal(await mayDestroyAfter(started, 'tainted-history', history('tainted')), false);
  assert.equal(await mayDestroyAfter(started, 'clean-search', search('nothing like it')), true);
  assert.equal(await mayDestroyAfter(started, 'tainted-search', search('zeppelin')), false);
});

test('a turn that recalls a tainted turn of its conversation cannot confirm a destructive call itself', async () => {
  await using started = await startWithPage({ page: 'a recipe', agent: { contextEngine: CONTEXT_ENGINE } });
  const order = await orderTurns(started);
  const tools: Record<string, (turnId: string) => Call> = {
    search: () => ({ name: 'ctx_search', input: { query: 'zeppelin' } }),
    inspect: (turnId) => ({ name: 'ctx_inspect', input: { id: `${turnId}/1` } }),
    recall: () => ({ name: 'ctx_recall', input: { prompt: 'Where is the zeppelin?' } }),
  };
  for (const [tool, describeCall] of Object.entries(tools)) {
    for (const [kind, call] of [
      ['tainted', READ_PAGE],
      ['clean', LOOK],
    ] as const) {
      const name = `${tool}-${kind}`;
      const turnId = await order(name, 'fresh', play(ANSWER, call));
      await order(name, 'fresh', play('a turn in between'));
      await order(name, 'rolling', play('done', describeCall(turnId), destroy(name)));
      assert.equal(await started.count(name), kind === 'clean' ? 1 : 0, name);
    }
  }
});

test('the mark of a recalled text is found although the result is truncated for the model', async () => {
  await using started = await startWithPage({ page: 'a recipe', agent: { maxToolResultChars: 1_000 } });
  const message = play('zeppelin '.repeat(500), READ_PAGE);
  await started.app.bus.call('agent.execute', { agentId: 'scripted', message, sessionKey: { userId: 'test', channelId: 'long' } });
  const history = { name: 'session_history', input: { session_key: getKey('long') } };
  assert.equal(await mayDestroyAfter(started, 'truncated', history), false);
});
