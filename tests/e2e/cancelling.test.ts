import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@switchyard/client';
import { chatUrl, contents } from './clients.ts';
import { command, type Running } from './embedded.ts';
import { sendRequest, call, one, openExchange, request, type Answer } from './exchange.ts';
import { isNamed, listen } from './listening.ts';
import { onEachProfile } from './profiles.ts';

const LONG = JSON.stringify([{ text: 'so far ' }, { wait: 60_000 }, { text: 'never said' }]);
const SHORT = JSON.stringify([{ text: 'answered' }]);
/** Time until the next turn has its answer, on a busy machine. */
const DEADLINE_MS = 20_000;

interface Cancelled {
  cancelled: boolean;
  turns: { turnId: string; state: string }[];
}

const turn = (channelId: string, message: string) => ({ agentId: 'scripted', message, sessionKey: { channelId } });

/** Cancels the turn of a session as soon as one runs. */
async function cancel(product: Running, channelId: string, by = (params: object) => call<Cancelled>(product, 'agent.cancel', params)) {
  for (;;) {
    const answer = await by({ agentId: 'scripted', sessionKey: { channelId } });
    if (answer.cancelled) return answer;
  }
}

async function assertFree(product: Running, channelId: string, since: number): Promise<void> {
  const { response } = await call<{ response: string }>(product, 'agent.execute', turn(channelId, SHORT));
  assert.equal(response, 'answered');
  assert.ok(performance.now() - since < DEADLINE_MS, `${performance.now() - since} ms`);
}

function assertCancelled({ error, result }: Answer, { turns }: Cancelled): void {
  assert.equal(result, undefined);
  const { code, reason, turnId, retryable } = error?.data ?? {};
  assert.deepEqual([error?.code, code, reason, retryable], [-32603, 'CANCELLED', 'TURN_CANCELLED', false]);
  assert.deepEqual(turns, [{ turnId, state: 'cancelled' }]);
}

onEachProfile(
  'cancelled turns',
  (product) => {
    for (const transport of ['http', 'ws'] as const) {
      test(`agent.cancel over ${transport} works at any replica`, async () => {
        await using client = await openExchange(transport, product);
        const by = async (params: object): Promise<Cancelled> => one(await client.say(request('agent.cancel', params))).result as Cancelled;
        for (let at = 0; at < 4; at += 1) {
          const channel = `${transport}-${at}`;
          const pending = sendRequest(product, 'agent.execute', turn(channel, LONG));
          const answer = await cancel(product, channel, by);
          const since = performance.now();
          assertCancelled(await pending, answer);
          await assertFree(product, channel, since);
          assert.deepEqual(await contents(product, channel), [SHORT, 'answered']);
        }
      });
    }

    test('the CLI cancels a turn', async () => {
      const asked = sendRequest(product, 'agent.execute', turn('typed', LONG));
      let stdout = '';
      while (stdout === '') ({ stdout } = await command(product, 'cancel', '--agent', 'scripted', '--session', 'typed'));
      assert.match(stdout, /^turn_[0-9A-Za-z]{22} cancelled\n$/);
      assert.equal((await asked).error?.data?.['reason'], 'TURN_CANCELLED');
    });

    for (const transport of ['http', 'ws'] as const) {
      test(`with the client over ${transport}, by closing the stream`, async () => {
        const client = createClient({ ...product, transport });
        for await (const _ of client.chat(LONG, { agentId: 'scripted', sessionKey: `read-${transport}`, cancels: true })) break;
        await assertFree(product, `read-${transport}`, performance.now());
        client.close();
      });
    }

    test('a cancelled stream ends with the error, and a reconnecting reader is told to stop', async () => {
      using stream = listen(chatUrl(product, { agentId: 'scripted', message: LONG, sessionKey: 'streamed' }));
      await stream.until(isNamed('token'));
      const { turns } = await cancel(product, 'streamed');
      const { data } = await stream.until(isNamed('done', 'error'));
      assert.deepEqual([data['code'], data['reason'], data['turnId']], ['CANCELLED', 'TURN_CANCELLED', turns[0]?.turnId]);
      await stream.stopped;
      assert.deepEqual(stream.statuses, [200, 204]);
    });

    test('cancelling queued turns keeps the order of the others and frees the session at the end', async () => {
      const started: string[] = [];
      for (const message of [LONG, SHORT, SHORT]) {
        const { turnId } = (await call(product, 'agent.start', turn('queued', message))) as { turnId: string };
        started.push(turnId);
      }
      const requests = started.map((turnId) => sendRequest(product, 'agent.attach', { turnId }));
      const { turns } = await cancel(product, 'queued');
      assert.deepEqual(turns.map(({ turnId }) => turnId).toSorted(), started.toSorted());
      for (const answer of await Promise.all(requests)) assert.equal(answer.error?.data?.['reason'], 'TURN_CANCELLED');
      await call(product, 'session.reset', { session_key: `agent:scripted:default:${product.client}:queued` });
    });
  },
  {
    start: () => ({ config: { agents: { default: {}, scripted: { model: 'dev/scripted', concurrency: { maxConcurrentRuns: 20 } } } } }),
    concurrency: true,
  },
);
