import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatUrl, contents } from './clients.ts';
import { call } from './exchange.ts';
import { isNamed, listen } from './listening.ts';
import { onEachProfile } from './profiles.ts';

const WORKS = JSON.stringify([{ text: 'working ' }, { wait: 3_000 }, { tool: { name: 'session_status' } }, { text: 'as asked at first' }]);
const THEN = JSON.stringify([{ text: 'as asked then' }]);

onEachProfile(
  'steered turns',
  (product) => {
    test('a message during a turn joins that turn, and both requests end with its answer', async () => {
      using stream = listen(chatUrl(product, { agentId: 'scripted', message: WORKS, sessionKey: 'steered' }));
      await stream.until(isNamed('token'));
      const params = { agentId: 'scripted', message: THEN, sessionKey: { channelId: 'steered' }, idempotencyKey: 'then' };
      const answer = await call<{ response: string }>(product, 'agent.execute', params);
      const { data } = await stream.until(isNamed('done', 'error'));
      assert.deepEqual([answer.response, data['response']], ['as asked then', 'as asked then']);
      assert.deepEqual(await contents(product, 'steered'), [WORKS, THEN, 'as asked then']);
      assert.deepEqual(await call(product, 'agent.execute', params), answer);
    });
  },
  { start: () => ({ config: { agents: { default: {}, scripted: { model: 'dev/scripted' } } } }) },
);
