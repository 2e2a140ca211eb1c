import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandHere } from './command-name.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

test('in a checkout the command is short, elsewhere it is whole', () => {
  assert.equal(commandHere('.switchyard', root), 'bin/switchyard');
  assert.equal(commandHere('.switchyard', join(root, 'docs')), join(root, 'bin/switchyard'));
});

test('data of its own is named, and whatever stands in its name is one word for the shell', () => {
  assert.equal(commandHere('second', root), 'bin/switchyard --data second');
  assert.equal(commandHere("it's ü", root), `bin/switchyard --data 'it'\\''s ü'`);
});
