import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readName } from '../../scripts/new-service/name.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

test('readName returns the spellings of a name of two words', () => {
  const spelled = { name: 'release-notes', code: 'releaseNotes', type: 'ReleaseNotes', declared: false };
  assert.deepEqual(readName('release-notes', root), spelled);
});

test('readName recognizes a service with an existing contract', () => {
  assert.deepEqual(readName('workspace', `${root}nowhere/`), { name: 'workspace', code: 'workspace', type: 'Workspace', declared: true });
});

for (const [name, sentence] of [
  ['', 'Say what it is called: make service NAME=notes'],
  ['Notes', '"Notes" cannot be its name: expected at most 32 lower-case letters and digits, as in release-notes.'],
  ['two words', '"two words" cannot be its name: expected at most 32 lower-case letters and digits, as in release-notes.'],
  ['../outside', '"../outside" cannot be its name: expected at most 32 lower-case letters and digits, as in release-notes.'],
  ['9lives', '"9lives" cannot be its name: expected at most 32 lower-case letters and digits, as in release-notes.'],
  ['secrets', 'services/secrets is there already; choose another name.'],
  ['embedded', 'services/embedded is there already; choose another name.'],
  ['bus', 'libs/bus is there already; choose another name.'],
  ['agents', 'Methods named agents.* belong to registry; choose another name.'],
  ['rpc', 'rpc.discover is answered at the edge; choose another name.'],
  ['subjects', '"subjects" means something else in code; choose another name.'],
  ['await', '"await" means something else in code; choose another name.'],
  ['dashboard', 'services/dashboard is there already; choose another name.'],
] as const) {
  test(`readName rejects "${name}" with a reason`, () => {
    assert.deepEqual(readName(name, root), { refused: sentence });
  });
}
