import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess, tempDir } from '@switchyard/testkit';

const MOST_MB = 64;
const MOST = /most ([0-9.]+) MB(?:: (\S+))?/;

test('50 MB go through a server in less than 64 MB of extra memory, at both ends, and a slow reader holds the rest back', async (t) => {
  await using directory = await tempDir();
  const run = (...words: string[]) => [process.execPath, fileURLToPath(new URL('./memory.fixture.ts', import.meta.url)), ...words];
  await using server = await startProcess(run('serve', directory.path), { ready: /listening on (\S+)/ });
  const [, address = ''] = server.ready;

  async function end(...words: [how: string, id?: string]): Promise<string> {
    const [how, ...rest] = words;
    await using client = await startProcess(run(how, address, ...rest.filter((word) => word !== undefined)), { ready: MOST });
    const [, most = '', outcome = ''] = client.ready;
    t.diagnostic(`${how}: ${most} MB`);
    assert.ok(Number(most) < MOST_MB, `${how} took ${most} MB`);
    return outcome;
  }

  const id = await end('write');
  assert.equal(await end('read', id), '50000000');
  assert.equal(await end('slowly', id), '50000000');
  await server.end();
  const [, most = ''] = MOST.exec(server.output()) ?? [];
  t.diagnostic(`serve: ${most} MB`);
  assert.ok(Number(most) < MOST_MB, `the server took ${most} MB`);
});
