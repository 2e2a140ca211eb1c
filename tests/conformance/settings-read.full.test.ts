import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SETTING_OWNERS, UNREAD_SETTINGS } from '@switchyard/contracts';
import { findUnread } from '../../scripts/settings/find-unread.ts';
import { READERS } from '../../scripts/settings/setting-readers.ts';
import { listSettings } from '../../scripts/settings/list-settings.ts';

const { declared, unread, needless } = findUnread(fileURLToPath(new URL('../../', import.meta.url)), READERS);

test('every setting is read by a service or library, or is listed as unread', () => {
  const listed = new Set(UNREAD_SETTINGS);
  const found = new Set(unread);
  assert.deepEqual(
    { unlisted: unread.filter((path) => !listed.has(path)), listedInVain: UNREAD_SETTINGS.filter((path) => !found.has(path)) },
    { unlisted: [], listedInVain: [] },
    'nothing reads what is unlisted; what is listed in vain is read now, or gone. Read it, or write it down: make lock',
  );
});

test('every entry of READERS is needed', () => assert.deepEqual(needless, []));

test('every owner of a setting has an existing setting', () => {
  assert.deepEqual(
    Object.keys(SETTING_OWNERS).filter((path) => !declared.includes(path)),
    [],
  );
});

test('findUnread sees every setting that is parsed', () => {
  const parsed = listSettings().map(({ path }) => path);
  assert.ok(parsed.length > 900, `${parsed.length} settings`);
  assert.deepEqual(declared.toSorted(), parsed.toSorted());
});
