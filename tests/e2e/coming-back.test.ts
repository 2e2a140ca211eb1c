import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertOneTurn, chatUrl, contents, getText } from './clients.ts';
import type { Running } from './embedded.ts';
import { call, mint, openSocket, request } from './exchange.ts';
import { isNamed, listen } from './listening.ts';
import { onEachProfile } from './profiles.ts';

const QUESTION = Array.from({ length: 20 }, (_, n) => `word${n}`).join(' ');
const RESPONSE = `I am dev/slow, the development model. You said: ${QUESTION}`;
const config = { agents: { default: {}, slow: { provider: 'dev', model: 'slow' } } };

const createRequest = (channel: string): Record<string, string> => ({ message: QUESTION, agentId: 'slow', sessionKey: channel });

onEachProfile(
  'stream resume',
  (product) => {
    test('an EventSource resumes a broken stream at its position', async () => {
      using stream = listen(chatUrl(product, createRequest('broken')));
      await stream.until(({ data }) => String(data['delta']).startsWith('model'));
      const before = stream.receivedMessages.length;
      stream.cut();
      const done = await stream.until(isNamed('done', 'error'));
      assert.equal(done.data['response'], RESPONSE);
      assert.deepEqual(stream.statuses, [200, 200]);
      assert.ok(stream.receivedMessages.length > before + 1);
      assert.equal(getText(stream.receivedMessages), RESPONSE);
      assertOneTurn(stream.receivedMessages);
      assert.deepEqual(await contents(product, 'broken'), [QUESTION, RESPONSE], 'the question was asked once');
    });

    test('a reader that reconnects at once, later or after the end gets the rest without duplicates', async () => {
      const url = chatUrl(product, createRequest('again'));
      using first = listen(url);
      const seen = await first.until(({ data }) => String(data['delta']).startsWith('model'));
      first[Symbol.dispose]();

      using second = listen(url, seen.id);
      const next = await second.until(isNamed('token'));
      assert.equal(next.data['accumulated'], `${String(seen.data['accumulated'])}${String(next.data['delta'])}`);
      const done = await second.until(isNamed('done', 'error'));
      const whole = [...first.receivedMessages.slice(0, first.receivedMessages.indexOf(seen) + 1), ...second.receivedMessages];
      assert.equal(getText(whole), RESPONSE);
      assertOneTurn(whole);

      using third = listen(url, seen.id);
      assert.equal((await third.until(isNamed('done', 'error'))).id, done.id);
      assert.equal(getText(third.receivedMessages), getText(second.receivedMessages), 'what it missed is still there');

      using fourth = listen(url, done.id);
      await fourth.stopped;
      assert.deepEqual([fourth.statuses, fourth.receivedMessages], [[204], []]);
      assert.deepEqual(await contents(product, 'again'), [QUESTION, RESPONSE]);
    });

    test('a client cannot resume a turn of another client', async () => {
      using mine = listen(chatUrl(product, createRequest('mine')));
      const { id } = await mine.until(isNamed('token'));
      const { secret } = await mint(product, 'rpc');
      using theirs = listen(chatUrl({ ...product, token: secret }, createRequest('theirs')), id);
      await theirs.stopped;
      assert.deepEqual([theirs.statuses, theirs.receivedMessages], [[204], []]);
      await mine.until(isNamed('done'));
    });

    for (const [surface, leave] of Object.entries({ sse: leaveStream, chat: leaveChat, rpc: leaveRpc, ws: leaveSocket })) {
      test(`disconnecting from ${surface} does not end the turn`, async () => {
        const channel = `left-${surface}`;
        await leave(product, channel);
        const next = { message: 'still there?', agentId: 'slow', sessionKey: { channelId: channel } };
        const { response } = await call<{ response: string }>(product, 'agent.execute', next);
        assert.deepEqual(await contents(product, channel), [QUESTION, RESPONSE, 'still there?', response]);
      });
    }
  },
  { start: () => ({ config }), concurrency: true },
);

async function leaveStream(product: Running, channel: string): Promise<void> {
  using stream = listen(chatUrl(product, createRequest(channel)));
  await stream.until(isNamed('token'));
}

function leaveChat(product: Running, channel: string): Promise<void> {
  return leaveRequest(product, channel, { path: '/api/chat', body: JSON.stringify(createRequest(channel)) });
}

function leaveRpc(product: Running, channel: string): Promise<void> {
  return leaveRequest(product, channel, { path: '/rpc', body: executing(channel) });
}

async function leaveRequest(product: Running, channel: string, { path, body }: { path: string; body: string }): Promise<void> {
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
  const answer = fetch(product.url + path, { method: 'POST', headers, body, signal: leaving.signal });
  await hasBegun(product, channel);
  leaving.abort();
  await assert.rejects(answer, { name: 'AbortError' });
}

async function leaveSocket(product: Running, channel: string): Promise<void> {
  await using socket = await openSocket(product, product.token);
  socket.send(executing(channel));
  await hasBegun(product, channel);
  socket.raw.terminate();
}

function executing(channel: string): string {
  return request('agent.execute', { message: QUESTION, agentId: 'slow', sessionKey: { channelId: channel } });
}

/** The session exists from the time the turn is accepted. */
async function hasBegun(product: Running, channel: string): Promise<void> {
  for (;;) {
    const { sessions } = await call<{ sessions: { channelId: string }[] }>(product, 'session.list');
    if (sessions.some(({ channelId }) => channelId === channel)) return;
  }
}
