import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

/** Returns the first message of the prompt. */
async function beginning(documentation: object): Promise<{ role: string; content: string } | undefined> {
  await using upstream = await startUpstream();
  const entries = { local: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm' }] } };
  const settings = { providers: { entries }, documentation };
  await using app = await testSessions({ settings, agents: { default: { provider: 'local', model: 'm' } } });
  await app.bus.call('agent.execute', { message: 'where is help?' });
  const [first] = upstream.requests[0]?.body.messages ?? [];
  return first as { role: string; content: string } | undefined;
}

test('the system prompt lists the configured documentation links', async () => {
  const promptMessage = await beginning({
    enabled: true,
    publicDocsUrl: 'https://docs.example',
    sourceUrl: ' ',
    customLinks: [{ label: 'on\ncall', url: 'https://wiki.example/on-call' }],
  });
  const content =
    'You are an agent of Switchyard. Its documentation:\n- documentation: https://docs.example\n- on call: https://wiki.example/on-call';
  assert.deepEqual(promptMessage, { role: 'system', content });
});

test('the prompt has no documentation section if it is disabled or has no links', async () => {
  for (const documentation of [{ publicDocsUrl: 'https://docs.example' }, { enabled: true }])
    assert.equal((await beginning(documentation))?.role, 'user');
});
