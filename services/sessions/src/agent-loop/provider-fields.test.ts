import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '@switchyard/contracts';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { buildResumeState } from '../model/checkpoint-log.ts';
import { getTurnId, testSessions } from '../sessions.fixture.ts';

const fields = { reasoning_content: 'I should look it up.' };
const callFields = { extra_content: { google: { thought_signature: 'abc' } } };
const asking = (name: string) => ({ kind: 'tools' as const, calls: [{ name, arguments: '{}', fields: callFields }], fields });

async function withUpstream(upstream: Upstream) {
  const entries = { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'one' }] } };
  return testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'lab', model: 'one' } } });
}

const ANSWER = { kind: 'text' as const, text: 'All is well.' };

function assertFieldsSent({ requests }: Upstream): void {
  const sent = requests.at(-1)?.body.messages?.find((message) => (message as { role: string }).role === 'assistant');
  const { reasoning_content, tool_calls: [call] = [] } = sent as { reasoning_content?: string; tool_calls?: { extra_content?: object }[] };
  assert.deepEqual([reasoning_content, call?.extra_content], [fields.reasoning_content, callFields.extra_content]);
}

test('sends the fields of the provider back with the results of the agent’s tools', async () => {
  await using upstream = await startUpstream(asking('session_status'), ANSWER);
  await using app = await withUpstream(upstream);
  const result = await app.bus.call('agent.execute', { message: 'how are things?' });
  assert.deepEqual(Object.keys(result).sort(), ['finishReason', 'response', 'sessionKey', 'tokensUsed']);
  assertFieldsSent(upstream);
});

for (const isStreamed of [false, true])
  test(`returns the fields to a caller that runs its own tools and accepts them back, ${isStreamed ? 'streamed' : 'not streamed'}`, async () => {
    await using upstream = await startUpstream(asking('find'), ANSWER);
    await using app = await withUpstream(upstream);
    const tools = { offered: [{ name: 'find' }] };
    const run = async (request: Partial<Input<'turns.run'>>) => {
      const turn = { turnId: getTurnId('stateless'), model: 'default', message: 'hi', tools, ...request };
      if (!isStreamed) return app.bus.call('turns.complete', turn);
      const frames = app.bus.stream('turns.run', turn);
      for (;;) {
        const step = await frames.next();
        if (step.done) return step.value;
      }
    };
    const { toolCalls = [], providerFields } = await run({});
    assert.deepEqual([providerFields, toolCalls[0]?.providerFields], [fields, callFields]);
    const since = [
      { role: 'assistant' as const, text: '', toolCalls, ...(providerFields === undefined ? {} : { providerFields }) },
      { role: 'tool' as const, callId: 'call_up_0', name: 'find', text: 'found' },
    ];
    await run({ since });
    assertFieldsSent(upstream);
  });

test('a resumed turn has the fields of its steps', () => {
  const call = { callId: 'c', name: 'look', input: {}, text: '{}', providerFields: callFields };
  const providerFields = { provider: 'lab', fields };
  const step = { mark: 'said' as const, text: '', calls: [call], input: 1, output: 1, costUsd: 0, begins: 'c', providerFields };
  const { messages } = buildResumeState([step]);
  assert.deepEqual(messages, [{ role: 'assistant', text: '', toolCalls: [call], providerFields }]);
});

test('fields with a secret or a canary are not returned to a caller', async () => {
  for (const leak of ['CTKN_0123456789abcdef', 'sk_live_0123456789abcdefghijklmn']) {
    await using upstream = await startUpstream({ ...asking('find'), fields: { reasoning_content: `It is ${leak}.` } });
    await using app = await withUpstream(upstream);
    const turn = { turnId: getTurnId('leak'), model: 'default', message: 'hi', tools: { offered: [{ name: 'find' }] } };
    const { toolCalls = [], providerFields } = await app.bus.call('turns.complete', turn);
    assert.deepEqual([toolCalls.length, providerFields], [1, undefined], leak);
  }
});
