import assert from 'node:assert/strict';
import { open, readdir, readFile, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '@switchyard/telemetry';
import { startProcess, tempDir } from '@switchyard/testkit';
import type { BlobStore } from '../store/blob-store.ts';
import { mintBlobId } from '../store/validate-blob.ts';
import { a, newHead, readAll, sha256, someBytes, TYPE, writeAll } from '../contract/fixture.contract.ts';
import type { BlobLimits } from '../store/blob-limits.ts';
import { openBlobStore } from '../open-blob-store.ts';
import { bytesOf, putBlob } from '../transfer/put-blob.ts';
import { explain } from './file-errors.ts';

interface Opened {
  path: string;
  store: BlobStore;
  files(): Promise<string[]>;
}

async function opened(t: TestContext, limits: Partial<BlobLimits> = {}): Promise<Opened> {
  const directory = await tempDir();
  t.after(() => directory[Symbol.asyncDispose]());
  const path = join(directory.path, 'blobs');
  const store = await openBlobStore(`file:${path}`, { log: silentLogger(), limits });
  t.after(() => store.close());
  return { path, store, files: () => filesIn(path) };
}

/** A sweep may take a directory away in the middle. */
async function filesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (entries === undefined) return filesIn(path);
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => relative(path, join(entry.parentPath, entry.name)));
}

test('files are for nobody else, their names say nothing, and the tenant is in none', async (t) => {
  const { path, store, files } = await opened(t);
  const blobs = store.for({ tenant: '../../acme' });
  const { id } = await putBlob(blobs, bytesOf(someBytes(10)), { contentType: TYPE });
  await (await blobs.write(newHead())).leave();
  const names = await files();
  assert.equal(names.length, 2);
  for (const name of names) {
    assert.match(name, /^(whole|unfinished)\/[0-9a-f]{32}\/blob_[0-9A-Za-z]{22}$/);
    assert.equal((await stat(join(path, name))).mode & 0o777, 0o600);
    assert.equal((await stat(join(path, name, '..'))).mode & 0o777, 0o700);
  }
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  assert.ok(names.some((name) => name.endsWith(id)));
});

test('a link that somebody put there leads nowhere', async (t) => {
  const { path, store, files } = await opened(t);
  const { id } = await putBlob(store.for(a), bytesOf(someBytes(10)), { contentType: TYPE });
  const [name = ''] = await files();
  const [secret, other] = [join(path, 'secret'), mintBlobId()];
  await writeFile(secret, 'x'.repeat(5_000));
  await symlink(secret, join(path, name.replace(id, other)));
  await assert.rejects(store.for(a).read(other), { code: 'UNAVAILABLE' });
});

test('what changed on the disk is not given away as what was written', async (t) => {
  const { path, store, files } = await opened(t);
  const bytes = someBytes(200_000);
  const { id } = await putBlob(store.for(a), bytesOf(bytes), { contentType: TYPE });
  const [name = ''] = await files();
  const file = await open(join(path, name), 'r+');
  await file.write(Buffer.from([(bytes[100_000] ?? 0) ^ 1]), 0, 1, 1_024 + 100_000);
  await file.close();
  const got: Uint8Array[] = [];
  await assert.rejects(
    async () => {
      for await (const piece of (await store.for(a).read(id)).bytes) got.push(piece);
    },
    { code: 'DATA_LOSS', details: { reason: 'CHECKSUM' } },
  );
  assert.ok(Buffer.concat(got).length < bytes.length, 'nobody has all of it');
  await truncate(join(path, name), 1_024 + 10);
  assert.equal((await store.for(a).status(id)).offset, 10);
  await assert.rejects(readAll(store.for(a), id), { code: 'DATA_LOSS' });
});

test('a process that dies while it writes leaves an unfinished file, which is continued, or swept', async (t) => {
  const { path, store, files } = await opened(t, { sweepMs: 10, abandonedMs: 3_600_000 });
  const [continued, left] = [mintBlobId(), mintBlobId()];
  const script = `
    const { openBlobStore } = await import(${JSON.stringify(join(import.meta.dirname, '../open-blob-store.ts'))});
    const { silentLogger } = await import('@switchyard/telemetry');
    const blobs = (await openBlobStore(${JSON.stringify(`file:${path}`)}, { log: silentLogger() })).for({ tenant: 'a' });
    for (const id of ${JSON.stringify([continued, left])}) {
      const writer = await blobs.write({ id, contentType: 'a/b' });
      for (let n = 0; n < 40; n++) await writer.append(Buffer.alloc(10_000, n));
    }
    console.log('written');
    setInterval(() => {}, 1_000);`;
  await using child = await startProcess([process.execPath, '--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
    ready: /written/,
  });
  await child.end('SIGKILL');
  assert.ok((await files()).every((name) => name.startsWith('unfinished/')));
  const bytes = Buffer.concat(Array.from({ length: 60 }, (_, n) => Buffer.alloc(10_000, n)));
  const asked: number[] = [];
  const { id } = await putBlob(store.for(a), (offset) => (asked.push(offset), bytesOf(bytes)(offset)), {
    id: continued,
    contentType: 'a/b',
  });
  assert.ok(bytes.equals(await readAll(store.for(a), id)));
  assert.equal((await store.for(a).status(left)).offset, 400_000);
  const [name = ''] = (await files()).filter((one) => one.startsWith('unfinished/'));
  await utimes(join(path, name), new Date(), new Date(Date.now() - 3_700_000));
  while ((await files()).length > 1) await delay(5);
  assert.match((await files())[0] ?? '', /^whole\//);
});

test('a file that was cut off within its head is begun anew', async (t) => {
  const { path, store, files } = await opened(t);
  const [head, bytes] = [newHead(), someBytes(10)];
  await (await store.for(a).write(head)).leave();
  const [name = ''] = await files();
  await truncate(join(path, name), 100);
  assert.equal((await writeAll(store.for(a), head, bytes)).sha256, sha256(bytes));
});

test('a sweep goes by what the file says, and not by a time that a copy gave it', async (t) => {
  const { path, store, files } = await opened(t, { sweepMs: 5 });
  const { id } = await putBlob(store.for(a), bytesOf(someBytes(10)), { contentType: TYPE });
  const [name = ''] = await files();
  await utimes(join(path, name), new Date(0), new Date(0));
  const swept = await putBlob(store.for(a), bytesOf(someBytes(10)), { contentType: TYPE, expiresAt: Date.now() + 50 });
  while ((await files()).some((one) => one.endsWith(swept.id))) await delay(5);
  assert.equal((await store.for(a).status(id)).offset, 10);
});

test('a disk without room is an error of its own, and what is there can be continued', async (t) => {
  const { path, store } = await opened(t);
  const id = mintBlobId();
  const script = `
    const { openBlobStore } = await import(${JSON.stringify(join(import.meta.dirname, '../open-blob-store.ts'))});
    const { silentLogger } = await import('@switchyard/telemetry');
    const blobs = (await openBlobStore(${JSON.stringify(`file:${path}`)}, { log: silentLogger() })).for({ tenant: 'a' });
    const writer = await blobs.write({ id: ${JSON.stringify(id)}, contentType: 'a/b' });
    try {
      for (;;) await writer.append(Buffer.alloc(50_000, 1));
    } catch ({ code, details }) {
      console.log('refused ' + JSON.stringify({ code, reason: details.reason }));
    }
    await writer.leave();`;
  // No file may be larger than 200 blocks of 1 KiB: for the process that is a full disk.
  const command = ['bash', '-c', `trap '' XFSZ; ulimit -f 200; exec "$0" "$@"`, process.execPath, '--input-type=module', '--eval', script];
  await using child = await startProcess(command, { cwd: import.meta.dirname, ready: /refused (\{.*\})/ });
  assert.deepEqual(JSON.parse(child.ready[1] ?? ''), { code: 'RESOURCE_EXHAUSTED', reason: 'STORE_FULL' });
  await child.exited;
  const { id: same } = await putBlob(store.for(a), bytesOf(Buffer.alloc(300_000, 1)), { id, contentType: 'a/b' });
  assert.equal((await store.for(a).status(same)).ref?.size, 300_000);
});

test('a full device says so', async () => {
  const full = await open('/dev/full', 'r+');
  try {
    const { code, details } = explain(await full.write(Buffer.alloc(10)).catch((error: unknown) => error));
    assert.deepEqual([code, details.reason, details.retryable], ['RESOURCE_EXHAUSTED', 'STORE_FULL', false]);
  } finally {
    await full.close();
  }
});

test('a directory that cannot be made is named by no path', async (t) => {
  const { path } = await opened(t);
  await writeFile(`${path}-file`, '');
  await assert.rejects(openBlobStore(`file:${path}-file/blobs`, { log: silentLogger() }), (error: Error) => !error.message.includes(path));
  assert.equal((await readFile(`${path}-file`)).length, 0);
});
