import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, startUpstream } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

test('adds a note about length by agent, thread and channel', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'fine' });
  const entries = { local: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm' }] } };
  const local = { provider: 'local', model: 'm' };
  const plain = { level: 'standard', maxResponseChars: 300, useMarkdown: false, allowCodeBlocks: false };
  const verbosity = { defaultLevel: 'terse', threadLevel: 'detailed', overrides: { sms: plain, 'irc:one': { useMarkdown: true } } };
  const agents = { default: local, short: { ...local, verbosity }, off: { ...local, verbosity: { ...verbosity, enabled: false } } };
  await using app = await testSessions({ as: principal({ scopes: ['*'] }), settings: { providers: { entries } }, agents });
  const sent = async (agentId: string, location: object = {}): Promise<string> => {
    await app.bus.call('agent.execute', { message: 'hello', agentId, sessionKey: location });
    const messages = upstream.requests.at(-1)?.body.messages as { content: string }[] | undefined;
    return messages?.at(-2)?.content ?? '';
  };
  assert.equal(await sent('default'), '');
  assert.equal(await sent('off'), '');
  assert.match(await sent('short'), /^Format of your next answer: Answer in as few words as possible/);
  assert.match(await sent('short', { threadId: 't' }), /: Answer at length/);
  assert.match(
    await sent('short', { channelId: 'sms:1' }),
    /: Answer at normal length\. Use at most 300 characters\. Write plain text without Markdown\. Do not use code blocks\.$/,
  );
  assert.match(await sent('short', { channelId: 'irc:one' }), /: Answer in as few words as possible, without explanations\.$/);
});
