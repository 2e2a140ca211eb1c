import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skillText, testTools } from './tools.fixture.ts';

const name = 'release-notes';

test('skills.update replaces SKILL.md, and a deleted skill can be created again', async () => {
  await using app = await testTools();
  const readList = async () => (await app.bus.call('skills.list', {})).skills;
  await app.bus.call('skills.create', { name, content: skillText(name) });
  await app.bus.call('skills.update', { name, content: skillText(name, { description: 'Sends notes.', userInvocable: false }) });
  assert.deepEqual(await readList(), [
    { name, description: 'Sends notes.', location: `skills/${name}`, source: 'local', userInvocable: false },
  ]);
  await app.bus.call('skills.delete', { name });
  await assert.rejects(app.bus.call('skills.update', { name, content: skillText(name) }), { code: 'NOT_FOUND' });
  await app.bus.call('skills.create', { name, content: skillText(name) });
  assert.deepEqual(
    (await readList()).map(({ description }) => description),
    ['Does release-notes.'],
  );
});
