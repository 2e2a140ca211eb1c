import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess, tempDir } from '@switchyard/testkit';

/** V8 collects memory outside its heap only after about 64 MB of it; 63 to 77 MB were measured. */
const MAX_EXTRA_MB = 96;
const MAX_MEMORY_LINE = /max ([0-9.]+) MB(?:: (\S+))?/;

test(`transfers 100 MB with less than ${MAX_EXTRA_MB} MB of extra memory at both ends, also to a slow reader`, async (t) => {
  await using directory = await tempDir();
  const command = (...words: string[]) => [process.execPath, fileURLToPath(new URL('./memory.fixture.ts', import.meta.url)), ...words];
  await using server = await startProcess(command('serve', directory.path), { ready: /listening on (\S+)/ });
  const [, address = ''] = server.ready;

  async function runClient(mode: string, ...id: string[]): Promise<string> {
    await using client = await startProcess(command(mode, address, ...id), { ready: MAX_MEMORY_LINE });
    const [, max = '', outcome = ''] = client.ready;
    t.diagnostic(`${mode}: ${max} MB`);
    assert.ok(Number(max) < MAX_EXTRA_MB, `${mode} took ${max} MB`);
    return outcome;
  }

  const id = await runClient('write');
  assert.equal(await runClient('read', id), '100000000');
  assert.equal(await runClient('read-slowly', id), '100000000');
  await server.end();
  const [, max = ''] = MAX_MEMORY_LINE.exec(server.output()) ?? [];
  t.diagnostic(`serve: ${max} MB`);
  assert.ok(Number(max) < MAX_EXTRA_MB, `the server took ${max} MB`);
});
