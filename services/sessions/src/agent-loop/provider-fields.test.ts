import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections, type Input } from '@switchyard/contracts';
import { createModels } from '@switchyard/models';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { buildResumeState, type CheckpointEntry } from '../model/checkpoint-log.ts';
import { runAgentLoop } from './agent-loop.ts';
import type { TurnPlan } from './turn-plan.ts';
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

test('another replica sends the fields of a checkpointed step', async () => {
  await using upstream = await startUpstream(asking('look'), ANSWER);
  const entries = { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'one' }] } };
  const createAccess = () => {
    const settings = {
      models: sections.models.parse({}),
      providers: sections.providers.parse({ entries }),
      security: sections.security.parse({}),
    };
    return createModels({ settings: () => settings, secret: async () => null, env: {} });
  };
  const marks: CheckpointEntry[] = [];
  const lost = new Error('the replica is lost');
  const plan: TurnPlan = {
    model: { provider: 'lab', modelId: 'one' },
    messages: [{ role: 'user', text: 'hi' }],
    tools: { specs: [], isReadOnly: () => true, isIdempotent: () => true, use: async () => ({ result: 'seen', failed: false }) },
    maxSteps: 10,
    maxTokens: 1_000,
    promptTimeoutMs: 5_000,
    signal: new AbortController().signal,
  };
  const run = async (options: Partial<TurnPlan>) => Array.fromAsync(runAgentLoop(createAccess(), { ...plan, ...options }));
  const onCheckpoint = async (mark: CheckpointEntry): Promise<void> => {
    marks.push(JSON.parse(JSON.stringify(mark)) as CheckpointEntry);
    throw lost;
  };
  await assert.rejects(run({ onCheckpoint }), lost);
  await run({ resumeFrom: buildResumeState(marks) });
  assertFieldsSent(upstream);
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
