import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doubleOf } from '@switchyard/testkit';
import { zip } from '../import/zip.fixture.ts';
import { skillText, testTools } from '../tools.fixture.ts';

test('skills.import stores the skill of an archive and of a SKILL.md with its address', async () => {
  const archive = zip([
    ['notes-main/SKILL.md', skillText('notes')],
    ['notes-main/a.py', 'print(1)'],
    ['notes-main/a.db', new Uint8Array([0])],
  ]);
  await using _outside = await doubleOf.outside({
    'host.example': ({ url }, response) =>
      void (url === '/notes.zip'
        ? response.end(archive)
        : url?.startsWith('/SKILL.md') === true
          ? response.end(skillText('letters'))
          : response.writeHead(404).end()),
  });
  await using app = await testTools();
  const url = 'http://host.example/notes.zip';
  assert.deepEqual(await app.bus.call('skills.import', { url }), { ok: true, path: 'skills/notes', name: 'notes', fileCount: 2 });
  const single = await app.bus.call('skills.import', { url: `http://host.example/SKILL.md?token=secret-${'x'.repeat(4_000)}` });
  assert.deepEqual([single.name, single.fileCount], ['letters', 1]);
  const { skills } = await app.bus.call('skills.list', {});
  assert.deepEqual(
    skills.map(({ name, source, provenanceSummary }) => [name, source, provenanceSummary]),
    [
      ['letters', 'imported', 'imported from http://host.example/SKILL.md'],
      ['notes', 'imported', `imported from ${url}`],
    ],
  );
  await assert.rejects(app.bus.call('skills.import', { url }), { code: 'ALREADY_EXISTS' });
});

test('skills.import names the address in its errors, and stores nothing', async () => {
  await using outside = await doubleOf.outside({
    'host.example': ({ url }, response) =>
      void (url === '/page'
        ? response.end('<!doctype html>')
        : url === '/a.bin'
          ? response.end(Buffer.from([0, 1]))
          : response.writeHead(404).end()),
  });
  await using app = await testTools();
  for (const [url, code, message] of [
    ['http://host.example/none', 'NOT_FOUND', /http:\/\/host\.example\/none does not exist/],
    ['http://127.0.0.1/SKILL.md', 'PERMISSION_DENIED', /url: /],
    ['http://host.example/page', 'INVALID_ARGUMENT', /url: expected YAML front matter/],
    ['http://host.example/a.bin', 'INVALID_ARGUMENT', /url: expected a folder on GitHub, a \.zip archive or a SKILL\.md/],
  ] as const)
    await assert.rejects(app.bus.call('skills.import', { url }), { code, message }, url);
  const before = outside.requests.length;
  await assert.rejects(app.bus.call('skills.import', { url: 'http://host.example/page', agentId: 'none' }), { code: 'NOT_FOUND' });
  assert.equal(outside.requests.length, before);
  assert.deepEqual((await app.bus.call('skills.list', {})).skills, []);
});
