import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isZip, readZipSkill } from './zip-archive.ts';
import { zip } from './zip.fixture.ts';

const SKILL = '---\nname: notes\ndescription: Takes notes.\n---\nText.';

test('readZipSkill reads the text files and counts others', async () => {
  const archive = zip([
    ['SKILL.md', SKILL],
    ['scripts/', ''],
    ['scripts/run.py', 'print(1)\n'],
    ['logo.png', new Uint8Array([0x89, 0x50, 0, 1])],
    ['latin1.txt', new Uint8Array([0xe9, 0x61])],
    ['__MACOSX/._SKILL.md', 'x'],
    ['.DS_Store', 'x'],
  ]);
  assert.ok(isZip(archive));
  assert.deepEqual(await readZipSkill(archive), {
    files: [
      { path: 'SKILL.md', content: SKILL },
      { path: 'scripts/run.py', content: 'print(1)\n' },
    ],
    skippedFiles: 2,
  });
});

test('readZipSkill takes the only top folder as the folder of the skill', async () => {
  const { files } = await readZipSkill(
    zip([
      ['notes-main/SKILL.md', SKILL],
      ['notes-main/a/b.md', 'b'],
      ['__MACOSX/notes-main/._SKILL.md', 'x'],
    ]),
  );
  assert.deepEqual(
    files.map(({ path }) => path),
    ['SKILL.md', 'a/b.md'],
  );
});

test('readZipSkill leaves out symbolic links', async () => {
  const { files, skippedFiles } = await readZipSkill(zip([['SKILL.md', '/etc/passwd']], { mode: 0o120777 }));
  assert.deepEqual([files, skippedFiles], [[], 1]);
});

test('readZipSkill refuses hostile and unsuitable archives', async () => {
  const many = (count: number, content = 'x') => Array.from({ length: count }, (_, at) => [`f${at}`, content] as const);
  for (const [archive, message] of [
    [zip([['../SKILL.md', SKILL]]), /url: expected an archive whose names stay within it, got a name that leads out/],
    [zip([['/SKILL.md', SKILL]]), /a name that leads out/],
    [zip([['a\\..\\..\\SKILL.md', SKILL]]), /a name that leads out/],
    [
      zip([
        ['SKILL.md', SKILL],
        ['SKILL.md', 'x'],
      ]),
      /each name once, got SKILL\.md twice/,
    ],
    [zip([['SKILL.md', SKILL]], { flags: 1 }), /an archive without a password/],
    [zip([['SKILL.md', SKILL], ...many(1_000)]), /an archive of at most 1000 entries, got 1001/],
    [zip([['SKILL.md', SKILL], ...many(200)]), /a skill of at most 200 files/],
    [
      zip([
        ['SKILL.md', SKILL],
        ['a', Buffer.alloc(8_000_000)],
      ]),
      /a compression ratio of at most 100/,
    ],
    [zip([['SKILL.md', SKILL], ...many(9, 'abcdefghij'.repeat(50_000))]), /compression ratio|at most 4000000 characters/],
    [
      zip([
        ['a/x.md', 'x'],
        ['a/b/SKILL.md', SKILL],
      ]),
      /expected a folder with SKILL\.md, got x\.md, b\/SKILL\.md/,
    ],
    [zip(many(30)), /got f0, .*f19 and 10 more/],
    [zip([['SKILL.md', SKILL]]).subarray(0, 60), /a readable archive, got a damaged one/],
  ] as const)
    await assert.rejects(readZipSkill(archive), { code: 'INVALID_ARGUMENT', message });
});
