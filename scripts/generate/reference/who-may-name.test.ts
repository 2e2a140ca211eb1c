import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listNamingParams, listNamingSettings, PARAM_KINDS, SETTING_KINDS } from './naming-fields.ts';
import { whoMayNamePage } from './who-may-name.ts';

test('each setting and param that names a secret, session, path or address has a row, and no row is stale', () => {
  assert.deepEqual(Object.keys(SETTING_KINDS).toSorted(), listNamingSettings().toSorted(), 'add the field to naming-fields.ts');
  assert.deepEqual(Object.keys(PARAM_KINDS).toSorted(), listNamingParams().toSorted(), 'add the field to naming-fields.ts');
});

test('no field that an administrator of another tenant can write names a secret', () => {
  const rows = whoMayNamePage()
    .split('\n')
    .map((line) => line.split(' | '))
    .filter((cells) => cells.includes('secret'));
  assert.ok(rows.length > 5);
  for (const cells of rows) assert.deepEqual(cells.slice(-2), ['no', 'no |'], cells[0]);
});
