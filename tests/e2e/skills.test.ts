import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { call } from './exchange.ts';
import type { Running } from './embedded.ts';
import { onEachProfile } from './profiles.ts';

interface Skills {
  skills: { name: string; description: string }[];
}

interface Answer {
  response: string;
  finishReason: string;
}

/** Replicas of sessions see a new skill within moments; a busy machine takes longer. */
const PATIENCE_MS = 20_000;
const POLL_MS = 50;

const ask = (product: Running, message: string, agentId: string, peerId: string): Promise<Answer> =>
  call<Answer>(product, 'agent.execute', { message, agentId, sessionKey: { userId: 'skills', channelId: 'web', peerId } });

/** Asks until the answer matches, because each replica of sessions follows the skills by itself. */
async function askUntil(product: Running, message: string, agentId: string, expected: RegExp): Promise<Answer> {
  for (const deadline = Date.now() + PATIENCE_MS; ;) {
    const answer = await ask(product, message, agentId, `skills-${Math.random()}`);
    if (expected.test(answer.response)) return answer;
    assert.ok(Date.now() < deadline, answer.response);
    await wait(POLL_MS);
  }
}

onEachProfile('skills', (product) => {
  test('an agent has a created skill as a tool, and a user invokes it', async () => {
    const { agentId } = await call<{ agentId: string }>(product, 'agents.create', { name: 'Skilled', model: 'dev/tools' });
    const content = '---\nname: notes\ndescription: Writes notes.\nallowedTools: [session_search]\n---\nWrite notes about $1.\n';
    await call(product, 'skills.create', { name: 'notes', content, agentId });
    const { skills } = await call<Skills>(product, 'skills.list', { agentId });
    assert.deepEqual(
      skills.map(({ name, description }) => [name, description]),
      [['notes', 'Writes notes.']],
    );

    const used = await askUntil(product, 'skill__notes {"arguments":"switches"}', agentId, /skill__notes answered/);
    assert.match(used.response, /Write notes about switches\./);

    const invoked = await ask(product, '/skill:notes switches', agentId, 'skills-invoked');
    assert.match(invoked.response, /Tools offered here: session_search\./, 'the skill narrows the turn');
    const later = await ask(product, 'hello', agentId, 'skills-invoked');
    assert.match(later.response, /memory_search/, 'the next turn has all tools again');

    await call(product, 'skills.delete', { name: 'notes', agentId });
    const gone = await ask(product, '/skill:notes', agentId, 'skills-gone');
    assert.deepEqual([gone.finishReason, /The skill notes does not exist/.test(gone.response)], ['command', true]);
  });

  test('a skill without a valid head is refused with the field', async () => {
    await assert.rejects(call(product, 'skills.create', { name: 'broken', content: 'no front matter' }), /content: expected/);
  });
});
