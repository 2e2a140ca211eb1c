// One end of the transfer of a 100 MB blob; prints the maximum extra memory. `serve DIR` serves a file store and prints on SIGTERM.
// `write ADDRESS`, `read ADDRESS ID` and `read-slowly ADDRESS ID` are clients.
import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '@switchyard/telemetry';
import type { Blobs } from '../store/blob-store.ts';
import { connectBlobs } from './connect-blobs.ts';
import { TOKEN } from './grpc-store.fixture.ts';
import { serveBlobs } from './serve-blobs.ts';
import { openBlobStore } from '../open-blob-store.ts';
import { putBlob } from '../transfer/put-blob.ts';
import { readBlob } from '../transfer/read-blob.ts';

const MB = 1_000_000;
const BYTES = 100 * MB;
const CHUNK = 50_000;
const SLOW_MB = 10;

const chunk = Buffer.alloc(CHUNK, 7);

function* generateBytes(size = BYTES): Generator<Uint8Array> {
  for (let sent = 0; sent < size; sent += CHUNK) yield chunk;
}

/** Measures from this call on, so that loading, compiling and connecting are not counted. */
function watchMemory(): () => number {
  const before = process.memoryUsage.rss();
  let max = 0;
  setInterval(() => (max = Math.max(max, process.memoryUsage.rss() - before)), 1).unref();
  return () => max / MB;
}

async function serve(directory: string): Promise<void> {
  const log = silentLogger();
  const store = await openBlobStore(`file:${directory}`, { log });
  const server = await serveBlobs({ store, host: '127.0.0.1', port: 0, token: TOKEN, log });
  const client = await connectBlobs(`grpc://127.0.0.1:${server.port}`, { token: TOKEN });
  await warmUp(client.for({ tenant: 'a' }));
  const maxMemory = watchMemory();
  process.on('SIGTERM', () => {
    process.stdout.write(`max ${maxMemory()} MB\n`);
    process.exit();
  });
  process.stdout.write(`listening on 127.0.0.1:${server.port}\n`);
}

async function warmUp(blobs: Blobs): Promise<void> {
  const { id } = await putBlob(blobs, () => generateBytes(10 * CHUNK), { contentType: 'a/b' });
  for await (const chunk of (await blobs.read(id)).bytes) if (chunk.length === 0) break;
}

async function transfer(mode: string, blobs: Blobs, id: string): Promise<string> {
  if (mode === 'write') return (await putBlob(blobs, () => generateBytes(), { contentType: 'a/b' })).id;
  let received = 0;
  for await (const chunk of (await readBlob(blobs, id)).bytes) {
    received += chunk.length;
    if (mode === 'read-slowly' && received < SLOW_MB * MB) await delay(5);
  }
  return String(received);
}

const [mode = '', target = '', id = ''] = process.argv.slice(2);
if (mode === 'serve') await serve(target);
else {
  const client = await connectBlobs(`grpc://${target}`, { token: TOKEN });
  const blobs = client.for({ tenant: 'a' });
  await warmUp(blobs);
  const maxMemory = watchMemory();
  const outcome = await transfer(mode, blobs, id);
  process.stdout.write(`max ${maxMemory()} MB: ${outcome}\n`);
  await client.close();
}
