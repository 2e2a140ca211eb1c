import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { command, startEmbedded } from './embedded.ts';

const TEXT = '---\nname: release-notes\ndescription: Writes release notes.\n---\nRead the commits.\n';

test('switchyard skills creates, uploads, lists, updates and deletes skills of the product', async () => {
  await using folder = await tempDir();
  await using product = await startEmbedded({ config: { agents: { default: {}, oslo: {} } } });
  const run = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await command(product, 'skills', ...words);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const file = join(folder.path, 'SKILL.md');
  await writeFile(file, TEXT);
  await mkdir(join(folder.path, 'scripts'));
  await writeFile(join(folder.path, 'scripts/tags.sh'), 'git tag\n');
  await run('create', 'release-notes', '--file', file, '--shared');
  const again = await command(product, 'skills', 'create', 'release-notes', '--file', file, '--shared');
  assert.deepEqual([again.code, /ALREADY_EXISTS/.test(again.stderr)], [1, true], again.stderr);
  assert.equal(await run('list', '--agent', 'oslo'), 'release-notes  local, shared  models, users  Writes release notes.\n');
  assert.match(await run('upload', folder.path, '--agent', 'oslo'), /^Uploaded release-notes: 2 files/);
  await writeFile(file, TEXT.replace('description: Writes', 'userInvocable: false\ndescription: Sends'));
  await run('update', 'release-notes', '--file', file, '--agent', 'oslo');
  assert.equal(await run('list', '--agent', 'oslo'), 'release-notes  local  models  Sends release notes.\n');
  await writeFile(file, 'Read the commits.\n');
  const refused = await command(product, 'skills', 'update', 'release-notes', '--file', file);
  assert.equal(refused.code, 1);
  await run('delete', 'release-notes', '--agent', 'oslo', '--yes');
  await run('delete', 'release-notes', '--shared', '--yes');
  assert.equal(await run('list', '--agent', 'oslo'), '');
});
