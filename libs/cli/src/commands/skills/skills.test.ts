import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const env = { SWITCHYARD_TOKEN: TOKEN };
const skills = (url: string, ...args: string[]) => runCommand(['skills', '--url', url, ...args], { cwd, env });
const CONTENT = '---\nname: release-notes\ndescription: Writes release notes.\n---\nRead the commits.\n';

const skill = { name: 'release-notes', description: 'Writes\nrelease notes.', location: 'skills/release-notes', source: 'local' };
const answers: Record<string, unknown> = {
  'skills.create': { ok: true, path: 'skills/release-notes', name: 'release-notes' },
  'skills.upload': { ok: true, path: 'skills/release-notes' },
  'skills.import': { ok: true, path: 'skills/release-notes', name: 'release-notes', fileCount: 2 },
  'skills.update': { ok: true, name: 'release-notes' },
  'skills.delete': { ok: true },
};

test('list prints who may invoke each skill, or how to add one', async () => {
  let listed: object[] = [
    skill,
    { ...skill, name: 'deploy', disableModelInvocation: true },
    { ...skill, name: 'style', userInvocable: false },
  ];
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { skills: listed }) });
  const { code, stdout } = await skills(server.url, 'list', '--agent', 'oslo');
  assert.equal(code, 0);
  assert.deepEqual(stdout.split('\n'), [
    'release-notes  local  models, users  Writes release notes.',
    'deploy         local  users          Writes release notes.',
    'style          local  models         Writes release notes.',
    '',
  ]);
  assert.deepEqual([calls[0]?.method, calls[0]?.params], ['skills.list', { agentId: 'oslo' }]);
  assert.deepEqual(JSON.parse((await skills(server.url, '-o', 'json')).stdout), { skills: listed });
  listed = [];
  assert.match((await skills(server.url)).stderr, /No skills\. Add one: .* skills upload --help/);
});

test('create and update send the file or standard input, import sends the address', async () => {
  await using folder = await tempDir();
  const file = join(folder.path, 'SKILL.md');
  writeFileSync(file, `\ufeff${CONTENT}`);
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), answers[call.method]) });
  const created = await skills(server.url, 'create', 'release-notes', '--file', file, '--force', '--shared');
  assert.equal(created.stdout, 'Created release-notes. Users invoke it with /skill:release-notes.\n', created.stderr);
  const words = ['skills', '--url', server.url, 'update', 'release-notes', '--file', '-', '--agent', 'oslo'];
  assert.equal((await runCommand(words, { cwd, env, input: CONTENT })).stdout, 'Updated release-notes.\n');
  assert.equal((await skills(server.url, 'import', 'https://example.com/skills/x')).stdout, 'Imported release-notes: 2 files.\n');
  assert.deepEqual(
    calls.map(({ params }) => params),
    [
      { name: 'release-notes', content: CONTENT, scope: 'shared', force: true },
      { name: 'release-notes', content: CONTENT, agentId: 'oslo' },
      { url: 'https://example.com/skills/x' },
    ],
  );
  for (const wrong of [['create', 'a'], ['update', 'a'], ['create', 'a', '--file', join(folder.path, 'absent')], ['create'], ['import']])
    assert.equal((await skills(server.url, ...wrong)).code, 2, wrong.join(' '));
  writeFileSync(file, Buffer.from([0xff, 0xfe]));
  assert.match((await skills(server.url, 'create', 'a', '--file', file)).stderr, /is not UTF-8 text/);
  assert.equal(calls.length, 3);
});

test('upload sends text files, and reports hidden files, binary files and links', async () => {
  await using folder = await tempDir();
  await using outside = await tempDir();
  writeFileSync(join(outside.path, 'secret.txt'), 'secret');
  for (const below of ['scripts/deep', '.git']) mkdirSync(join(folder.path, below), { recursive: true });
  writeFileSync(join(folder.path, 'SKILL.md'), CONTENT);
  writeFileSync(join(folder.path, 'scripts/deep/run.sh'), 'ls\n');
  writeFileSync(join(folder.path, '.git/config'), '[core]\n');
  writeFileSync(join(folder.path, 'logo.png'), Buffer.from([0x89, 0x50, 0, 1]));
  writeFileSync(join(folder.path, 'latin.txt'), Buffer.from([0x61, 0xe9, 0x62]));
  symlinkSync(outside.path, join(folder.path, 'docs'));
  symlinkSync(join(outside.path, 'secret.txt'), join(folder.path, 'notes.txt'));
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), answers[call.method]) });
  const { stdout, stderr } = await skills(server.url, 'upload', folder.path);
  assert.equal(stdout, 'Uploaded release-notes: 2 files. Users invoke it with /skill:release-notes.\n', stderr);
  assert.deepEqual(calls[0]?.params, {
    name: 'release-notes',
    files: [
      { path: 'SKILL.md', content: CONTENT },
      { path: 'scripts/deep/run.sh', content: 'ls\n' },
    ],
  });
  assert.match(stderr, /^Skipped, hidden: \.git$/m);
  for (const [reason, names] of [
    ['binary', ['latin.txt', 'logo.png']],
    ['symbolic link', ['docs', 'notes.txt']],
  ] as const)
    assert.deepEqual(new RegExp(`^Skipped, ${reason}: (.*)$`, 'm').exec(stderr)?.[1]?.split(', ').toSorted(), names);
  await skills(server.url, 'upload', folder.path, '--name', 'other', '--agent', 'oslo');
  assert.deepEqual([calls[1]?.params['name'], calls[1]?.params['agentId']], ['other', 'oslo']);
});

test('upload refuses a folder that is too large, has no SKILL.md, or no name', async () => {
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), answers[call.method]) });
  const refuse = async (arrange: (path: string) => void, message: RegExp): Promise<void> => {
    await using folder = await tempDir();
    arrange(folder.path);
    const { code, stderr } = await skills(server.url, 'upload', folder.path);
    assert.notEqual(code, 0);
    assert.match(stderr, message);
  };
  await refuse((path) => {
    for (let n = 0; n <= 200; n += 1) writeFileSync(join(path, `${n}.txt`), 'x');
  }, /more than 200 text files/);
  await refuse((path) => {
    for (const name of ['a.txt', 'b.txt']) writeFileSync(join(path, name), 'x'.repeat(2_000_001));
  }, /more than 4000000 characters/);
  await refuse((path) => writeFileSync(join(path, 'a.txt'), 'x'.repeat(12_000_001)), /a\.txt alone has 12000001 bytes/);
  await refuse((path) => {
    // A sparse file of a terabyte is recognized as binary by its first bytes.
    writeFileSync(join(path, 'disk.img'), '');
    truncateSync(join(path, 'disk.img'), 2 ** 40);
  }, /Skipped, binary: disk\.img[^]*SKILL\.md does not exist/);
  await refuse((path) => writeFileSync(join(path, 'SKILL.md'), 'Read the commits.\n'), /has no name in its front matter/);
  await refuse((path) => writeFileSync(join(path, 'SKILL.md'), '---\nname: *a\n---\n'), /has no name in its front matter/);
  assert.equal((await skills(server.url, 'upload', join(cwd, 'absent-folder'))).code, 2);
  assert.deepEqual(calls, []);
});

test('delete needs a confirmation, and an error of the server names the field', async () => {
  const calls: Call[] = [];
  const issues = [{ path: 'content', expected: 'YAML front matter', received: 'none', message: 'content: expected YAML front matter' }];
  await using server = await startServer({
    call: (call) => {
      calls.push(call);
      if (call.method !== 'skills.update') return answers[call.method];
      throw { code: -32602, message: 'Invalid params', data: { code: 'INVALID_ARGUMENT', issues } };
    },
  });
  const asked = await skills(server.url, 'delete', 'release-notes');
  assert.deepEqual([asked.code, calls.length], [1, 0]);
  assert.match(asked.stderr, /permanently deletes the skill release-notes.*--yes/);
  assert.equal((await skills(server.url, 'delete', 'release-notes', '--yes', '--shared')).stdout, 'Deleted release-notes.\n');
  assert.deepEqual(calls[0]?.params, { name: 'release-notes', scope: 'shared' });
  const words = ['skills', '--url', server.url, 'update', 'release-notes', '--file', '-'];
  const { code, stderr } = await runCommand(words, { cwd, env, input: 'Read the commits.' });
  assert.equal(code, 1);
  assert.match(stderr, /content: expected YAML front matter/);
});

test('completes subcommands, and names of skills from the server', async () => {
  await using server = await startServer({ call: () => ({ skills: [skill] }) });
  const offered = async (...words: string[]): Promise<string> =>
    (await runCommand(['completion', 'words', '--', 'skills', ...words], { cwd, env })).stdout;
  assert.equal(await offered('up'), 'upload\nupdate\n');
  assert.equal(await offered('delete', '--url', server.url, 'r'), 'release-notes\n');
  assert.equal(await offered('upload', ''), '<files>\n');
});
