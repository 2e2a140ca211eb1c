import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { principal, type TestService } from '@switchyard/testkit';
import { skillText, testTools } from './tools.fixture.ts';

describe('skills that are refused', () => {
  let app: TestService;
  before(async () => void (app = await testTools()));
  after(() => app[Symbol.asyncDispose]());

  const create = (content: string, name = 'x') => app.bus.call('skills.create', { name, content });
  const upload = (files: { path: string; content: string }[]) => app.bus.call('skills.upload', { name: 'x', files });
  const main = { path: 'SKILL.md', content: skillText('x') };
  const refusal = (message: RegExp) => ({ code: 'INVALID_ARGUMENT', message });

  test('a text that is no SKILL.md', async () => {
    for (const content of ['hello', '---\nname: x\n', `---\n${'a: '.repeat(100_000)}`, '\0'.repeat(1_000)])
      await assert.rejects(create(content), refusal(/^Invalid params: content: expected/));
    await assert.rejects(create('---\nname: x\n---\nText.'), refusal(/description/));
    await assert.rejects(create(skillText('y')), refusal(/^Invalid params: name: expected y, the name in SKILL\.md, got x/));
    for (const name of ['X', 'a--b', '-a', 'a/b', '..', 'a'.repeat(65)])
      await assert.rejects(create(skillText(name), name), refusal(/^Invalid params: name: expected/));
  });

  test('files whose paths leave the folder, come twice, or lack SKILL.md', async () => {
    for (const path of ['../x.md', '/etc/passwd', 'a/../b', 'a//b', './a', 'a\\b', 'a/', 'a\0b'])
      await assert.rejects(upload([main, { path, content: '' }]), refusal(/^Invalid params: files\[1\]\.path: expected a relative path/));
    await assert.rejects(upload([main, main]), refusal(/files\[1\]\.path: expected each path once/));
    await assert.rejects(upload([{ path: 'README.md', content: 'text' }]), refusal(/files: expected a file SKILL\.md, got none/));
  });

  test('more text than a skill may have', async () => {
    const large = Array.from({ length: 5 }, (_, n) => ({ path: `${n}.md`, content: 'x'.repeat(900_000) }));
    await assert.rejects(upload([main, ...large]), refusal(/files: expected at most 4000000 characters in all files, got 45000/));
    const many = Array.from({ length: 200 }, (_, n) => ({ path: `${n}.md`, content: '' }));
    await assert.rejects(upload([main, ...many]), refusal(/files/));
  });

  test('an unknown tool, and an input of another shape', async () => {
    await create(skillText('tool'), 'tool');
    const sessions = (await app.host.connect('sessions')).as(principal({ agent: 'default' }));
    const use = (name: string, input: unknown) => sessions.call('tools.use', { name, input });
    for (const name of ['skill__', 'skill__none', 'mcp__files--read', 'tool']) await assert.rejects(use(name, {}), { code: 'NOT_FOUND' });
    for (const input of [null, 'text', { arguments: 1 }, { other: true }, { file: 'x'.repeat(5_000) }])
      await assert.rejects(use('skill__tool', input), { code: 'INVALID_ARGUMENT' });
  });

  test('nothing of it was stored or offered', async () => {
    assert.deepEqual(
      (await app.bus.call('skills.list', {})).skills.map(({ name }) => name),
      ['tool'],
    );
  });
});

test('an agent has at most 200 skills', async () => {
  await using app = await testTools();
  const create = (n: number) => app.bus.call('skills.create', { name: `skill-${n}`, content: skillText(`skill-${n}`) });
  for (let n = 0; n < 200; n += 1) await create(n);
  await assert.rejects(create(200), { code: 'RESOURCE_EXHAUSTED', message: /^The agent default has 200 skills, which is the limit\./ });
  await app.bus.call('skills.delete', { name: 'skill-7' });
  await create(200);
  assert.equal((await app.bus.call('skills.list', {})).skills.length, 200);
});
