import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketKey, OFFERED_TOOLS_BUCKET, OfferedTools } from '@switchyard/contracts';
import { principal, type TestService } from '@switchyard/testkit';
import { skillText, testTools } from './tools.fixture.ts';

async function offered(app: TestService, agentId = 'default'): Promise<string[]> {
  const entry = await (await app.bus.kv(OFFERED_TOOLS_BUCKET)).get(bucketKey('default', agentId));
  return entry?.value ? OfferedTools.parse(JSON.parse(Buffer.from(entry.value).toString())).tools.map(({ name }) => name) : [];
}

test('a created skill is listed, offered to its agent, and used', async () => {
  await using app = await testTools();
  const content = skillText('release-notes', { allowedTools: ['session_search'] });
  assert.deepEqual(await app.bus.call('skills.create', { name: 'release-notes', content }), {
    ok: true,
    path: 'skills/release-notes',
    name: 'release-notes',
  });
  assert.deepEqual((await app.bus.call('skills.list', {})).skills, [
    { name: 'release-notes', description: 'Does release-notes.', location: 'skills/release-notes', source: 'local' },
  ]);
  assert.deepEqual(await offered(app), ['skill__release-notes']);
  assert.equal((await app.nextEvent('skill:loaded')).skillName, 'release-notes');
  const sessions = (await app.host.connect('sessions')).as(principal({ agent: 'default' }));
  const { result, failed } = await sessions.call('tools.use', { name: 'skill__release-notes', input: { arguments: 'v2' } });
  assert.deepEqual(
    [failed, result],
    [
      false,
      { skill: 'release-notes', instructions: 'Read the commits since the last tag.\n\nArguments: v2', allowedTools: ['session_search'] },
    ],
  );
  assert.deepEqual(await app.bus.call('skills.delete', { name: 'release-notes' }), { ok: true });
  assert.deepEqual([(await app.bus.call('skills.list', {})).skills, await offered(app)], [[], []]);
});
