import assert from 'node:assert/strict';
import { open as openFile, readdir, readFile, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '@switchyard/telemetry';
import { startProcess, tempDir } from '@switchyard/testkit';
import type { BlobStore } from '../store/blob-store.ts';
import { mintBlobId } from '../store/validate-blob.ts';
import { a, newHead, readAll, someBytes, TYPE } from '../contract/fixture.contract.ts';
import type { BlobLimits } from '../store/blob-limits.ts';
import { openBlobStore } from '../open-blob-store.ts';
import { createSource, putBlob } from '../transfer/put-blob.ts';
import { toServiceError } from './file-errors.ts';

interface TestStore {
  path: string;
  store: BlobStore;
  listFiles(): Promise<string[]>;
}

async function open(t: TestContext, limits: Partial<BlobLimits> = {}): Promise<TestStore> {
  const directory = await tempDir();
  t.after(() => directory[Symbol.asyncDispose]());
  const path = join(directory.path, 'blobs');
  const store = await openBlobStore(`file:${path}`, { log: silentLogger(), limits });
  t.after(() => store.close());
  return { path, store, listFiles: () => findFiles(path) };
}

/** Repeats the listing if a sweep deletes a directory meanwhile. */
async function findFiles(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (entries === undefined) return findFiles(path);
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => relative(path, join(entry.parentPath, entry.name)));
}

test('creates private files whose paths do not contain the tenant', async (t) => {
  const { path, store, listFiles } = await open(t);
  const blobs = store.for({ tenant: '../../acme' });
  const { id } = await putBlob(blobs, createSource(someBytes(10)), { contentType: TYPE });
  await blobs.write(newHead());
  const names = await listFiles();
  assert.equal(names.length, 2);
  for (const name of names) {
    assert.match(name, /^(whole|unfinished)\/[0-9a-f]{32}\/blob_[0-9A-Za-z]{22}(\.upload_[0-9A-Za-z]{22})?$/);
    assert.equal((await stat(join(path, name))).mode & 0o777, 0o600);
    assert.equal((await stat(join(path, name, '..'))).mode & 0o777, 0o700);
  }
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  assert.ok(names.some((name) => name.endsWith(id)));
});

test('does not follow symbolic links', async (t) => {
  const { path, store, listFiles } = await open(t);
  const { id } = await putBlob(store.for(a), createSource(someBytes(10)), { contentType: TYPE });
  const [name = ''] = await listFiles();
  const [secret, other] = [join(path, 'secret'), mintBlobId()];
  await writeFile(secret, 'x'.repeat(5_000));
  await symlink(secret, join(path, name.replace(id, other)));
  await assert.rejects(store.for(a).read(other), { code: 'UNAVAILABLE' });
});

test('fails DATA_LOSS before the last chunk of a corrupted file', async (t) => {
  const { path, store, listFiles } = await open(t);
  const bytes = someBytes(200_000);
  const { id } = await putBlob(store.for(a), createSource(bytes), { contentType: TYPE });
  const [name = ''] = await listFiles();
  const file = await openFile(join(path, name), 'r+');
  await file.write(Buffer.from([(bytes[100_000] ?? 0) ^ 1]), 0, 1, 1_024 + 100_000);
  await file.close();
  const received: Uint8Array[] = [];
  await assert.rejects(
    async () => {
      for await (const chunk of (await store.for(a).read(id)).bytes) received.push(chunk);
    },
    { code: 'DATA_LOSS', details: { reason: 'CHECKSUM' } },
  );
  assert.ok(Buffer.concat(received).length < bytes.length);
  await truncate(join(path, name), 1_024 + 10);
  assert.equal((await store.for(a).status(id)).size, 10);
  await assert.rejects(readAll(store.for(a), id), { code: 'DATA_LOSS' });
});

test('sweeps the upload of a killed process', async (t) => {
  const { path, store, listFiles } = await open(t, { sweepMs: 10, abandonedMs: 3_600_000 });
  const id = mintBlobId();
  const script = `
    const { openBlobStore } = await import(${JSON.stringify(join(import.meta.dirname, '../open-blob-store.ts'))});
    const { silentLogger } = await import('@switchyard/telemetry');
    const blobs = (await openBlobStore(${JSON.stringify(`file:${path}`)}, { log: silentLogger() })).for({ tenant: 'a' });
    const writer = await blobs.write({ id: ${JSON.stringify(id)}, contentType: 'a/b' });
    for (let n = 0; n < 40; n++) await writer.append(Buffer.alloc(10_000, n));
    console.log('written');
    setInterval(() => {}, 1_000);`;
  await using child = await startProcess([process.execPath, '--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
    ready: /written/,
  });
  await child.end('SIGKILL');
  const [name = '', ...others] = await listFiles();
  assert.match(name, /^unfinished\//);
  assert.deepEqual(others, []);
  await assert.rejects(store.for(a).status(id), { code: 'NOT_FOUND' });
  await utimes(join(path, name), new Date(), new Date(Date.now() - 3_700_000));
  while ((await listFiles()).length > 0) await delay(5);
});

test('a sweep uses the expiry time in the header, not the modification time', async (t) => {
  const { path, store, listFiles } = await open(t, { sweepMs: 5 });
  const { id } = await putBlob(store.for(a), createSource(someBytes(10)), { contentType: TYPE });
  const [name = ''] = await listFiles();
  await utimes(join(path, name), new Date(0), new Date(0));
  const swept = await putBlob(store.for(a), createSource(someBytes(10)), { contentType: TYPE, expiresAt: Date.now() + 50 });
  while ((await listFiles()).some((one) => one.endsWith(swept.id))) await delay(5);
  assert.equal((await store.for(a).status(id)).size, 10);
});

test('reports a full disk as STORE_FULL and accepts the blob afterwards', async (t) => {
  const { path, store } = await open(t);
  const id = mintBlobId();
  const script = `
    const { openBlobStore } = await import(${JSON.stringify(join(import.meta.dirname, '../open-blob-store.ts'))});
    const { silentLogger } = await import('@switchyard/telemetry');
    const blobs = (await openBlobStore(${JSON.stringify(`file:${path}`)}, { log: silentLogger() })).for({ tenant: 'a' });
    const writer = await blobs.write({ id: ${JSON.stringify(id)}, contentType: 'a/b' });
    try {
      for (;;) await writer.append(Buffer.alloc(50_000, 1));
    } catch ({ code, details }) {
      console.log('rejected ' + JSON.stringify({ code, reason: details.reason }));
    }
    await writer.abort();`;
  // With a file size limit of 200 KiB, writes fail with EFBIG as on a full disk.
  const command = ['bash', '-c', `trap '' XFSZ; ulimit -f 200; exec "$0" "$@"`, process.execPath, '--input-type=module', '--eval', script];
  await using child = await startProcess(command, { cwd: import.meta.dirname, ready: /rejected (\{.*\})/ });
  assert.deepEqual(JSON.parse(child.ready[1] ?? ''), { code: 'RESOURCE_EXHAUSTED', reason: 'STORE_FULL' });
  await child.exited;
  const ref = await putBlob(store.for(a), createSource(Buffer.alloc(300_000, 1)), { id, contentType: 'a/b' });
  assert.deepEqual([ref.id, ref.size], [id, 300_000]);
});

test('translates ENOSPC to STORE_FULL', async () => {
  const full = await openFile('/dev/full', 'r+');
  try {
    const { code, details } = toServiceError(await full.write(Buffer.alloc(10)).catch((error: unknown) => error));
    assert.deepEqual([code, details.reason, details.retryable], ['RESOURCE_EXHAUSTED', 'STORE_FULL', false]);
  } finally {
    await full.close();
  }
});

test('fails without a path in the message when the directory cannot be created', async (t) => {
  const { path } = await open(t);
  await writeFile(`${path}-file`, '');
  await assert.rejects(openBlobStore(`file:${path}-file/blobs`, { log: silentLogger() }), (error: Error) => !error.message.includes(path));
  assert.equal((await readFile(`${path}-file`)).length, 0);
});
