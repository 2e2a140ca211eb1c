import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SECRETS } from '../gateway.fixture.ts';
import type { PublishRequest } from './event-feed-load.fixture.ts';

// 2,000 readers for half a minute: SSE_READERS=2000 SSE_SECONDS=30 node --test services/gateway/src/events/event-feed-load.test.ts
const READERS = Number(process.env['SSE_READERS'] ?? 200);
const SECONDS = Number(process.env['SSE_SECONDS'] ?? 1);
const PER_SECOND = Number(process.env['SSE_PER_SECOND'] ?? 200);
/** Every tenth reader does not read. */
const STALLED = Math.floor(READERS / 10);
const TIMEOUT_MS = (SECONDS + 60) * 1_000;
const MIB = 1_048_576;
/** Maximum growth of the gateway. On a slow machine all readers lag, and each reads from the log separately. */
const MAX_GROWTH_MIB = 128 + READERS / 4;

const EVENT = Buffer.from('event: message:sent\n');

interface Reader {
  socket: Socket;
  events: number;
}

async function send(edge: ChildProcess, request: PublishRequest | 'measure-memory'): Promise<number> {
  const answer = once(edge, 'message');
  edge.send(request);
  return ((await answer) as [number])[0];
}

/** Opens a reader that counts its events, including events split between two chunks. */
async function openReader(url: URL, expected: number, done: () => void): Promise<Reader> {
  const socket = connect(Number(url.port), url.hostname);
  const reader: Reader = { socket, events: 0 };
  socket.write(`GET /api/events HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${SECRETS.rpc}\r\n\r\n`);
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let index = bytes.indexOf(EVENT); index >= 0; index = bytes.indexOf(EVENT, start)) {
      start = index + EVENT.length;
      if (++reader.events === expected) done();
    }
    rest = bytes.subarray(Math.max(start, bytes.length - EVENT.length + 1));
  });
  await once(socket, 'data');
  return reader;
}

test(
  `sends ${PER_SECOND} events per second to ${READERS} readers in bounded memory while some do not read`,
  { timeout: TIMEOUT_MS },
  async (t) => {
    const script = fileURLToPath(new URL('event-feed-load.fixture.ts', import.meta.url));
    const edge = fork(script, { execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'] });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => void edge.kill('SIGKILL'));
    const [address] = (await once(edge, 'message')) as [string];
    const url = new URL(address);
    const count = PER_SECOND * SECONDS;
    let remaining = READERS - STALLED;
    const completed = Promise.withResolvers<void>();
    const readers: Reader[] = [];
    for (let index = 0; index < READERS; index += 1)
      readers.push(await openReader(url, count, () => void (--remaining === 0 && completed.resolve())));
    stack.defer(() => readers.forEach(({ socket }) => void socket.destroy()));
    for (const { socket } of readers.slice(0, STALLED)) socket.pause();

    const before = await send(edge, 'measure-memory');
    const startedAt = performance.now();
    const peak = await send(edge, { perSecond: PER_SECOND, count });
    const publishMs = performance.now() - startedAt;
    await completed.promise;
    const receiveMs = performance.now() - startedAt;
    const grown = (Math.max(peak, await send(edge, 'measure-memory')) - before) / MIB;
    t.diagnostic(
      `${count} events in ${Math.round(publishMs)} ms, received by all readers ${Math.round(receiveMs - publishMs)} ms later; ${Math.round(before / MIB)} MiB before, ${Math.round(grown)} MiB more`,
    );
    assert.ok(grown < MAX_GROWTH_MIB, `grew by ${Math.round(grown)} MiB`);
    for (const { events } of readers.slice(STALLED)) assert.equal(events, count, 'each event once');
  },
);
