import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { findMissing } from './eligibility.ts';

test('findMissing compares the operating system', () => {
  assert.equal(findMissing({}), undefined);
  assert.equal(findMissing({ os: [] }), undefined);
  assert.equal(findMissing({ os: ['other', process.platform] }), undefined);
  assert.equal(findMissing({ os: ['amiga', 'beos'] }), 'the operating system amiga or beos');
});

test('findMissing searches programs in PATH without running them', async () => {
  await using data = await tempDir();
  const [first, second] = [join(data.path, 'first'), join(data.path, 'second')];
  for (const folder of [first, second]) await mkdir(folder);
  const ran = join(data.path, 'ran');
  await writeFile(join(second, 'tool'), `#!/bin/sh\ntouch ${ran}\n`);
  await chmod(join(second, 'tool'), 0o755);
  await writeFile(join(first, 'text'), 'x');
  await chmod(join(first, 'text'), 0o644);
  const env = { PATH: [first, join(data.path, 'none'), '', second].join(delimiter) };
  assert.equal(findMissing({ requires: { bins: ['tool'] } }, env), undefined);
  assert.equal(findMissing({ requires: { bins: ['tool', 'text', 'nope'] } }, env), 'the programs text, nope');
  assert.equal(findMissing({ requires: { bins: ['tool'] } }, {}), 'the program tool');
  await assert.rejects(import('node:fs/promises').then(({ access }) => access(ran)));
});

test('findMissing accepts variables that are set and not empty', () => {
  const env = { TOKEN: 'x', EMPTY: '', PATH: '' };
  assert.equal(findMissing({ requires: { env: ['TOKEN'] } }, env), undefined);
  assert.equal(
    findMissing({ os: ['amiga'], requires: { bins: ['git'], env: ['EMPTY', 'toString'] } }, env),
    'the operating system amiga and the program git and the environment variables EMPTY, toString',
  );
});
