import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addsUnreleasedEntry, unreleasedEntries } from './changelog.ts';

const changelog = (unreleased: string): string => `# Changelog

## [Unreleased]

${unreleased}

## [0.1.0] - 2026-11-20

- The first release.
`;

test('unreleasedEntries returns the list items of that section only', () => {
  const text = changelog('### Changed\n\n- A limit of 64 characters\n  for names.\n\n### Removed\n\n- `a.b`');
  assert.deepEqual(unreleasedEntries(text), ['- A limit of 64 characters\n  for names.', '- `a.b`']);
});

test('unreleasedEntries returns nothing without the section', () => {
  assert.deepEqual(unreleasedEntries('# Changelog\n\n- text\n'), []);
});

test('addsUnreleasedEntry requires a new entry under Unreleased', () => {
  const before = changelog('- one');
  assert.equal(addsUnreleasedEntry(before, before), false);
  assert.equal(addsUnreleasedEntry(before, changelog('- one\n- two')), true);
  assert.equal(addsUnreleasedEntry(before, changelog('- one\n\nA note that is no entry.')), false);
  assert.equal(addsUnreleasedEntry(before, before.replace('first release', 'first release, and more')), false);
  assert.equal(addsUnreleasedEntry('', changelog('- one')), true);
});
