import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { checkBrowser } from './browser-check.ts';

test('checkBrowser names the package of a missing Chromium', async () => {
  const check = await checkBrowser(['no-such-browser']);
  assert.deepEqual([check.ok, check.next], [undefined, 'apt-get install chromium']);
});

test('checkBrowser explains why a Chromium does not start', async () => {
  await using folder = await tempDir();
  await chmod(folder.path, 0o755);
  const program = join(folder.path, 'chromium');
  const starts = async (script: string): Promise<unknown> => {
    await writeFile(program, `#!/bin/sh\n[ "$1" = --version ] && exit 0\n${script}\n`, { mode: 0o755 });
    const { ok, detail } = await checkBrowser([program]);
    return { ok, detail: detail.replace(program, 'chromium') };
  };
  assert.deepEqual(await starts('echo "<html></html>"'), { ok: true, detail: 'chromium starts with its sandbox' });
  assert.deepEqual(await starts('echo "No usable sandbox!" >&2; exit 1'), { ok: false, detail: 'chromium finds no usable sandbox' });
  const library = 'echo "chromium: error while loading shared libraries: libnss3.so: cannot open" >&2; exit 127';
  assert.deepEqual(await starts(library), { ok: false, detail: 'chromium lacks libnss3.so' });
});
