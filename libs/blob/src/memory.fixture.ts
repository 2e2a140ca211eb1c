// One end of a blob of 50 MB, and the most extra memory it took. `serve DIR` is a store in files behind a server, which tells when it
// is asked to end; `write ADDRESS`, `read ADDRESS ID` and `slowly ADDRESS ID` are the other end.
import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '@switchyard/telemetry';
import type { Blobs } from './blob-store.ts';
import { connectBlobs } from './grpc/connect-blobs.ts';
import { TOKEN } from './grpc/over-grpc.fixture.ts';
import { serveBlobs } from './grpc/serve-blobs.ts';
import { openBlobStore } from './open-blob-store.ts';
import { putBlob } from './put-blob.ts';
import { readBlob } from './read-blob.ts';

const MB = 1_000_000;
const BYTES = 50 * MB;
const PIECE = 50_000;
const SLOW_MB = 10;

const piece = Buffer.alloc(PIECE, 7);

function* made(offset: number, size = BYTES): Generator<Uint8Array> {
  for (let at = offset; at < size; at += PIECE) yield piece;
}

/** From here on; what is loaded, compiled and connected by then is no part of what a blob takes. */
function watchMemory(): () => number {
  const before = process.memoryUsage.rss();
  let most = 0;
  setInterval(() => (most = Math.max(most, process.memoryUsage.rss() - before)), 1).unref();
  return () => most / MB;
}

async function serve(directory: string): Promise<void> {
  const log = silentLogger();
  const store = await openBlobStore(`file:${directory}`, { log });
  const server = await serveBlobs({ store, host: '127.0.0.1', port: 0, token: TOKEN, log });
  const client = await connectBlobs(`grpc://127.0.0.1:${server.port}`, { token: TOKEN });
  await warmUp(client.for({ tenant: 'a' }));
  const most = watchMemory();
  process.on('SIGTERM', () => {
    process.stdout.write(`most ${most()} MB\n`);
    process.exit();
  });
  process.stdout.write(`listening on 127.0.0.1:${server.port}\n`);
}

async function warmUp(blobs: Blobs): Promise<void> {
  const { id } = await putBlob(blobs, (offset) => made(offset, 10 * PIECE), { contentType: 'a/b' });
  for await (const piece of (await blobs.read(id)).bytes) if (piece.length === 0) break;
}

async function carry(how: string, blobs: Blobs, id: string): Promise<string> {
  if (how === 'write') return (await putBlob(blobs, made, { contentType: 'a/b' })).id;
  let taken = 0;
  for await (const piece of (await readBlob(blobs, id)).bytes) {
    taken += piece.length;
    if (how === 'slowly' && taken < SLOW_MB * MB) await delay(5);
  }
  return String(taken);
}

const [how = '', where = '', id = ''] = process.argv.slice(2);
if (how === 'serve') await serve(where);
else {
  const client = await connectBlobs(`grpc://${where}`, { token: TOKEN });
  const blobs = client.for({ tenant: 'a' });
  await warmUp(blobs);
  const most = watchMemory();
  const outcome = await carry(how, blobs, id);
  process.stdout.write(`most ${most()} MB: ${outcome}\n`);
  await client.close();
}
