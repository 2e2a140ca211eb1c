import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { findUnread, type Readers } from './find-unread.ts';

const SECTIONS = `
const limit = () => ({ size: 1, colour: '' });
const declared = {
  taken: 1, destructured: 1, parameter: 1, renamed: 1, quoted: 1, inTest: 1, ignored: 1, never: 1,
  spread: { inner: 1 },
  first: limit(), second: limit(),
  list: [{ id: '', note: '' }],
  byName: {} as Record<string, { id: string; label: string }>,
  maybe: undefined as { deep: number } | undefined,
};
export type Sections = { [K in keyof typeof declared]: (typeof declared)[K] };
`;

const READER = `
import type { Sections } from '../../../libs/contracts/src/config/sections.ts';
type Given = Pick<Sections, 'parameter' | 'renamed'>;
export function read(now: () => Readonly<Sections>): unknown[] {
  const { destructured, first, list } = now();
  const all = { ...now().spread, never: 2 };
  const items = list.map(({ id }) => id);
  return [now().taken, destructured, now()['quoted'], first.size, items, now().byName['a']?.label, now().maybe?.deep, other(now()), all.never];
}
function other({ parameter, renamed: another }: Given): unknown {
  return [parameter, another];
}
`;

const READS_ONE = (name: string): string => `
import type { Sections } from '../../../libs/contracts/src/config/sections.ts';
export const read = (given: Sections): unknown => given.${name};
`;

const FILES = {
  'tsconfig.json':
    '{"compilerOptions": {"strict": true, "module": "nodenext", "allowImportingTsExtensions": true, "noEmit": true, "types": []}}',
  'libs/contracts/src/config/sections.ts': SECTIONS,
  'services/one/src/reader.ts': READER,
  'services/one/src/reader.test.ts': READS_ONE('inTest'),
  'services/one/src/check.ts': READS_ONE('ignored'),
};

async function unreadWith(readers: Readers) {
  await using dir = await tempDir();
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(`${dir.path}/${name}`), { recursive: true });
    writeFileSync(`${dir.path}/${name}`, text);
  }
  return findUnread(`${dir.path}/`, readers);
}

test('findUnread counts a setting as read when production code accesses it by name', async () => {
  const { unread, declared } = await unreadWith({ ignored: ['services/one/src/check.ts'], readWhole: [] });
  assert.deepEqual(unread, ['byName.*.id', 'first.colour', 'ignored', 'inTest', 'list.*.note', 'never', 'second', 'spread.inner']);
  assert.ok(declared.includes('second.size') && declared.includes('maybe.deep'));
});

test('findUnread accepts settings listed as read, and reports needless entries of the list', async () => {
  const { unread, needless } = await unreadWith({
    ignored: ['services/one/src/reader.test.ts'],
    readWhole: ['spread', 'first.size', 'gone'],
  });
  assert.ok(!unread.includes('spread.inner') && !unread.includes('ignored'));
  assert.deepEqual(needless, ['services/one/src/reader.test.ts', 'first.size', 'gone']);
});
