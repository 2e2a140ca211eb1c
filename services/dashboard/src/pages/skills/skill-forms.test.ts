import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readChosenFiles, type ChosenFile } from './chosen-files.ts';
import { readFieldErrors } from './field-errors.ts';
import { readName, renderTemplate } from './skill-template.ts';

/** A file as a browser gives it for a chosen folder. */
const choose = (path: string, content: string | Uint8Array<ArrayBuffer>): ChosenFile =>
  Object.assign(new File([content], path.split('/').at(-1) ?? ''), { webkitRelativePath: path });

test('reads text files below the chosen folder, and skips hidden and binary files', async () => {
  const content = renderTemplate('release-notes', 'Writes notes: "short" ones.');
  const chosen = [
    choose('notes/SKILL.md', content),
    choose('notes/scripts/run.sh', 'ls\n'),
    choose('notes/.git/config', '[core]'),
    choose('notes/logo.png', new Uint8Array([0x89, 0x50, 0, 1])),
    choose('notes/latin.txt', new Uint8Array([0x61, 0xe9, 0x62])),
  ];
  assert.deepEqual(await readChosenFiles(chosen), {
    name: 'release-notes',
    files: [
      { path: 'SKILL.md', content },
      { path: 'scripts/run.sh', content: 'ls\n' },
    ],
    chars: content.length + 3,
    skipped: ['.git/config', 'logo.png', 'latin.txt'],
  });
});

test('refuses a folder with too many text files or characters', async () => {
  const many = Array.from({ length: 201 }, (_, n) => choose(`notes/${n}.txt`, 'x'));
  await assert.rejects(readChosenFiles(many), /more than 200 text files/);
  await assert.rejects(
    readChosenFiles(['a', 'b'].map((name) => choose(`notes/${name}.txt`, 'x'.repeat(2_000_001)))),
    /has more than 4,000,000 characters/,
  );
  await assert.rejects(readChosenFiles([choose('notes/a.txt', 'x'.repeat(12_000_001))]), /has the file a\.txt with more than/);
});

test('readName finds a plain or quoted name in the front matter alone', () => {
  assert.equal(readName('---\ndescription: x\nname: "release-notes"\n---\nname: other\n'), 'release-notes');
  assert.equal(readName('name: other\n'), '');
});

test('readFieldErrors assigns messages to fields', () => {
  const issues = [
    { path: 'files[3].path', expected: 'a', received: 'b', message: 'files[3].path: expected a' },
    { path: 'agentId', expected: 'a', received: 'b', message: 'agentId: expected a' },
  ];
  const fail = (data: object, message = 'refused') => Object.assign(new Error(message), { data });
  assert.deepEqual(readFieldErrors(fail({ code: 'INVALID_ARGUMENT', issues }), ['name', 'files']), { files: 'files[3].path: expected a' });
  assert.deepEqual(readFieldErrors(fail({ code: 'ALREADY_EXISTS' }), ['name']), { name: 'refused' });
  assert.deepEqual(readFieldErrors(fail({ code: 'PERMISSION_DENIED', reason: 'NOT_DEFAULT_AGENT' }), ['scope']), { scope: 'refused' });
  assert.deepEqual(readFieldErrors(fail({ code: 'UNAVAILABLE' }), ['name', 'content']), {});
  assert.deepEqual(readFieldErrors(new Error('offline'), ['name']), {});
});
