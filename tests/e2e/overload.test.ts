import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendRequest, call, type Answer } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

const ROOM = 2;
const MAY_WAIT = 10;
/** Each replica counts separately. */
const REPLICAS = { embedded: 1, cluster: 2 };
const TIMES = 3;

const config = {
  queue: { maxWaiting: MAY_WAIT },
  agents: { default: {}, narrow: { provider: 'dev', model: 'scripted', concurrency: { maxConcurrentRuns: ROOM } } },
};

onEachProfile(
  'three times the capacity',
  (product, profile) => {
    test('answers the queued turns, rejects the others at once with a retry time, and recovers', async () => {
      const max = (ROOM + MAY_WAIT) * REPLICAS[profile];
      const requests = Array.from({ length: max * TIMES }, (_, at) => at);
      let answeredCount = 0;
      /** Turns that ended early made room for others. */
      let roomMade = 0;
      const answers = await Promise.all(
        requests.map(async (at) => {
          const answer = await sendRequest(product, 'agent.execute', turn(at));
          if (answer.error) roomMade = answeredCount;
          else answeredCount += 1;
          return answer;
        }),
      );
      const refused = answers.filter(({ error }) => error !== undefined);
      for (const { error } of refused) assertShed(error);
      assert.ok(answeredCount >= MAY_WAIT && answeredCount <= max + roomMade, `${answeredCount} of ${requests.length} were answered`);
      assert.ok(refused.length > 0);
      const { response } = await call<{ response: string }>(product, 'agent.execute', turn(requests.length));
      assert.equal(response, `turn ${requests.length}`);
    });

    test('a rejected turn is in no history and can be retried with its key', async () => {
      const flood = Array.from({ length: (ROOM + MAY_WAIT) * REPLICAS[profile] * TIMES }, (_, at) => at + 1_000);
      const first = await Promise.all(flood.map((at) => sendRequest(product, 'agent.execute', keyed(at))));
      const refused = flood.filter((_, at) => first[at]?.error !== undefined);
      assert.ok(refused.length > 0);
      const [one = 0] = refused;
      const { sessions } = await call<{ sessions: { channelId: string }[] }>(product, 'session.list');
      assert.ok(!sessions.some(({ channelId }) => channelId === `channel-${one}`));
      for (const at of refused.slice(0, 3)) {
        const { response } = await call<{ response: string }>(product, 'agent.execute', keyed(at));
        assert.equal(response, `turn ${at}`);
      }
    });
  },
  { start: () => ({ config }) },
);

/** Each in its own session, so that the agent's capacity is the limit. */
function turn(at: number): Record<string, unknown> {
  const message = JSON.stringify([{ wait: 300 }, { text: `turn ${at}` }]);
  return { message, agentId: 'narrow', sessionKey: { channelId: `channel-${at}` } };
}

function keyed(at: number): Record<string, unknown> {
  return { ...turn(at), idempotencyKey: `key-${at}` };
}

function assertShed(error: Answer['error']): void {
  const { code, reason, retryable, retryAfterMs } = error?.data ?? {};
  assert.deepEqual([code, reason, retryable], ['RESOURCE_EXHAUSTED', 'TENANT_QUEUE_FULL', true], JSON.stringify(error));
  assert.ok(Number(retryAfterMs) > 0);
}
