import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandHere } from './command-name.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

test('commandHere returns a relative path in the checkout and an absolute path elsewhere', () => {
  assert.equal(commandHere('.switchyard', root), 'bin/switchyard');
  assert.equal(commandHere('.switchyard', join(root, 'docs')), join(root, 'bin/switchyard'));
});

test('commandHere adds and quotes a data directory other than the default', () => {
  assert.equal(commandHere('second', root), 'bin/switchyard --data second');
  assert.equal(commandHere("it's ü", root), `bin/switchyard --data 'it'\\''s ü'`);
});
